"""Feedback rounds: the least rates, the maximum RTT, a round's end."""

import pytest

from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.protocols.tfmcc.rounds import FeedbackRounds


def test_the_least_rates_are_kept_apart_by_rtt_and_loss() -> None:
    rounds = FeedbackRounds(TfmccOptions(), 0.5, 0.0)
    rounds.hear(500, has_rtt=True, has_loss=False)
    rounds.hear(300, has_rtt=False, has_loss=False)
    assert (rounds.suppression, rounds.suppression_no_rtt, rounds.from_loss) == (500, 300, False)
    rounds.hear(700, has_rtt=True, has_loss=True)  # slowstart is over: who lost nothing does not count any more
    assert (rounds.suppression, rounds.suppression_no_rtt, rounds.from_loss) == (700, NO_RATE, True)
    rounds.hear(100, has_rtt=True, has_loss=False)
    assert rounds.suppression == 700
    rounds.begin(1.0)
    assert (rounds.number, rounds.suppression, rounds.from_loss, rounds.reports) == (2, NO_RATE, False, 0)


def test_the_maximum_rtt_rises_at_once_and_falls_slowly() -> None:
    rounds = FeedbackRounds(TfmccOptions(rules="paper"), 0.5, 0.0)
    rounds.begin(1.0)
    assert rounds.max_rtt == 0.5  # nobody said anything
    rounds.hear_rtt(0.1)
    rounds.begin(2.0)
    assert rounds.max_rtt == pytest.approx(0.45)
    rounds.hear_rtt(0.8)
    assert rounds.max_rtt == 0.8
    for number in range(40):
        rounds.hear_rtt(0.1)
        rounds.begin(3.0 + number)
    assert rounds.max_rtt == pytest.approx(0.1)


def test_by_todays_rules_the_initial_rtt_goes_as_soon_as_somebody_has_told() -> None:
    rounds = FeedbackRounds(TfmccOptions(), 0.5, 0.0)
    rounds.begin(1.0)
    assert rounds.max_rtt == 0.5
    rounds.hear_rtt(0.1)
    rounds.begin(2.0)
    assert rounds.max_rtt == 0.1
    rounds.begin(3.0)
    rounds.hear_rtt(0.05)
    rounds.begin(4.0)
    assert rounds.max_rtt == pytest.approx(0.09)


def test_what_a_switch_tells_of_others_keeps_the_maximum_rtt_and_does_not_raise_it() -> None:
    rounds = FeedbackRounds(TfmccOptions(), 0.5, 0.0)
    rounds.know_rtts(0.2)
    for number in range(20):
        rounds.hear_rtt(0.01)
        rounds.hear_far(0.15 if number < 10 else 3.0)
        rounds.begin(1.0 + number)
        if number == 9:
            assert rounds.max_rtt == 0.15
    assert rounds.max_rtt == 0.15


@pytest.mark.parametrize(("rules", "patience"), [("paper", 2.0), ("rfc", 4.0)])
def test_a_round_lasts_t_and_by_the_rfc_longer_without_a_report(rules: str, patience: float) -> None:
    rounds = FeedbackRounds(TfmccOptions(rules=rules), 0.5, 0.0)
    assert not rounds.is_over(1e9)
    rounds.delay = 2.0
    assert not rounds.is_over(patience - 0.01)
    assert rounds.is_over(patience)
    rounds.hear(1, has_rtt=True, has_loss=True)
    assert rounds.is_over(2.0)
