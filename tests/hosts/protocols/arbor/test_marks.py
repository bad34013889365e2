import pytest

from hosts.protocols.arbor.marks import OWN_WAIT_S, Marks


def test_alpha_approaches_the_part_that_is_marked() -> None:
    marks = Marks()
    marks.share()
    for round_trip in range(1, 81):
        for number in range(30):
            marks.arrived(number < 6)
        assert marks.round_ended()
        assert marks.share() == pytest.approx(0.2 - 0.2 * (15 / 16) ** round_trip)


def test_the_first_mark_is_all_and_the_others_count_from_nothing() -> None:
    marks = Marks()
    marks.arrived(False)
    assert not marks.round_ended()
    assert marks.share() == 1
    assert marks.share() == 0


def test_a_round_trip_without_packets_says_nothing() -> None:
    marks = Marks()
    marks.share()
    marks.arrived(True)
    marks.round_ended()
    assert not marks.round_ended()
    assert marks.share() == 1 / 16


def test_marks_of_packets_that_have_not_waited_are_for_others_sake() -> None:
    marks = Marks()
    for _ in range(100):
        marks.arrived(False, waiting=0.0)
        marks.arrived(True, waiting=OWN_WAIT_S)
    assert marks.coupled == 0
    for _ in range(100):
        marks.arrived(False, waiting=OWN_WAIT_S)
        marks.arrived(True, waiting=OWN_WAIT_S / 2)
    assert marks.coupled == pytest.approx(1, abs=0.01)
