import pytest

from hosts.protocols.arbor.marks import Marks


def test_alpha_approaches_the_part_that_is_marked() -> None:
    marks = Marks()
    for round_trip in range(1, 81):
        for number in range(30):
            marks.arrived(number < 6)
        assert marks.round_ended()
        assert marks.alpha == pytest.approx(0.2 + 0.8 * (15 / 16) ** round_trip)


def test_a_round_trip_without_packets_says_nothing() -> None:
    marks = Marks()
    assert not marks.round_ended()
    assert marks.alpha == 1
