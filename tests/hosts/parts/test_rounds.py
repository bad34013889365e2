"""HyStart++ step by step."""

import pytest

from hosts.parts.rounds import SAMPLES, Rounds


def round_of(rounds: Rounds, number: int, rtt: float, samples: int = SAMPLES) -> list[bool]:
    """Samples of one round of 100 packets; whether each began it."""
    return [rounds.add(rtt, 100 * number + index, 100 * (number + 1)) for index in range(samples)]


def test_a_round_ends_when_what_was_sent_at_its_beginning_is_acknowledged() -> None:
    rounds = Rounds()
    for number in range(3):
        assert round_of(rounds, number, 0.1) == [True] + [False] * (SAMPLES - 1)


@pytest.mark.parametrize(
    ("before", "after", "longer"), [(0.1, 0.112, False), (0.1, 0.113, True), (0.001, 0.0055, True)]
)
def test_longer_by_an_eighth_and_no_less_than_4_ms(before: float, after: float, longer: bool) -> None:
    rounds = Rounds()
    round_of(rounds, 0, before)
    round_of(rounds, 1, after, SAMPLES - 1)
    assert not rounds.are_longer, "too few samples"
    rounds.add(after, 190, 200)
    assert rounds.are_longer is longer


def test_what_was_a_burst_is_found_to_have_been_one() -> None:
    rounds = Rounds()
    round_of(rounds, 0, 0.1)
    round_of(rounds, 1, 0.2)
    assert rounds.are_longer
    rounds.remember()
    assert not rounds.are_short_again
    round_of(rounds, 2, 0.1)
    assert rounds.are_short_again
