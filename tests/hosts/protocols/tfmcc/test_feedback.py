import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.tfmcc.feedback import FeedbackTimer, is_cancelled, normalised, timer_delay
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import NO_RATE

unit = st.floats(0, 1)
draws = st.floats(1e-12, 1)
rates = st.floats(100, 1e9)


@given(draws, unit, st.floats(1e-3, 100), st.integers(2, 100_000), unit)
def test_a_timer_is_never_negative_and_never_later_than_t(
    x: float, r: float, delay: float, bound: int, gamma: float
) -> None:
    assert 0 <= timer_delay(x, r, delay, bound, gamma) <= delay * (1 + 1e-12)


@given(draws, unit, unit, st.floats(1e-3, 100))
def test_a_lower_rate_reports_no_later_with_the_same_luck(x: float, r: float, other: float, delay: float) -> None:
    low, high = sorted((r, other))
    assert timer_delay(x, low, delay, 10_000, 0.25) <= timer_delay(x, high, delay, 10_000, 0.25)


@given(draws)
def test_without_bias_it_is_equation_2(x: float) -> None:
    assert timer_delay(x, 0.7, 4.0, 10_000, 0.0) == pytest.approx(max(4 * (1 + math.log(x, 10_000)), 0))


def test_one_in_n_reports_at_once() -> None:
    rng = Random(1)
    immediate = sum(timer_delay(1 - rng.random(), 0.0, 1.0, 100, 0.25) == 0 for _ in range(20_000))
    assert immediate == pytest.approx(200, rel=0.25)


@given(st.floats(0, 2))
def test_bias_begins_at_nine_tenths_and_saturates_at_half(r: float) -> None:
    assert 0 <= normalised(r) <= 1
    assert normalised(0.9) == pytest.approx(1)
    assert normalised(0.5) == 0
    assert normalised(0.7) == pytest.approx(0.5)


@given(rates, rates)
def test_theta_spans_from_the_lowest_rate_to_the_first_report(own: float, echoed: float) -> None:
    assert is_cancelled(own, echoed, 0.0) == (own >= echoed)
    assert is_cancelled(own, echoed, 1.0)
    if own < 0.89 * echoed:
        assert not is_cancelled(own, echoed, 0.1)
    if own > 0.91 * echoed:
        assert is_cancelled(own, echoed, 0.1)


@given(rates, rates, rates, rates, st.integers(0, 2**32))
def test_who_is_much_lower_than_every_echo_always_gets_to_report(
    first: float, second: float, own: float, current: float, seed: int
) -> None:
    timer = FeedbackTimer(Random(seed), 10_000, 0.25, 0.1)
    timer.start(1.0, 2.0, own, 1e6, has_loss=True, has_rtt=True)
    for echoed in (first, second):
        timer.hear(1, echoed, current, from_loss=True)
    assert (timer.due_at is not None) == (max(own, current) <= 0.9 * min(first, second))


def test_a_loss_is_silenced_by_losses_only() -> None:
    timer = FeedbackTimer(Random(1), 10_000, 0.25, 0.1)
    timer.start(0.0, 2.0, 1e6, 2e6, has_loss=True, has_rtt=True)
    timer.hear(1, 1e3, 1e6, from_loss=False)
    assert timer.due_at is not None
    timer.hear(NO_RATE, 1e3, 1e6, from_loss=True)
    assert timer.due_at is not None
    timer.hear(1, 1e3, 1e6, from_loss=True)
    assert timer.due_at is None


@given(st.floats(1e-3, 4), st.floats(1, 1e8))
def test_feedback_slows_down_at_low_rates(max_rtt: float, rate: float) -> None:
    options = TfmccOptions()
    delay = options.feedback_delay(max_rtt, 1000, rate)
    # Two data packets may be lost before the echo, and it still comes within T (2.5.3).
    assert delay >= 4 * max_rtt
    assert delay >= 4 * 3 * 1000 / rate
    assert delay == pytest.approx(max(4 * max_rtt, 12_000 / rate))
    # Slowstart ends with the first loss.
    begin = options.feedback_delay(max_rtt, 1000, rate, slowstart=True)
    assert begin == pytest.approx(max(4 * max_rtt, 4000 / rate))
    paper = TfmccOptions(rules="paper")
    assert paper.feedback_delay(max_rtt, 1000, rate, slowstart=True) == pytest.approx(delay)
    assert TfmccOptions(rules="rfc").feedback_delay(max_rtt, 1000, 1e9) == pytest.approx(6 * max(max_rtt, 3e-6))
