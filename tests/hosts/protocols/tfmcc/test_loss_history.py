import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.parts.throughput import loss_event_rate
from hosts.protocols.tfmcc.loss_history import LEAST_DISCOUNT, LOG_RANGES, LossHistory, interval_weights

WEIGHTS = interval_weights(8)


def naive(
    arrivals: list[tuple[int, float]], rtt: float, initial: float, weights: tuple[float, ...], *, discounting: bool
) -> tuple[int, float]:
    """Events and loss event rate, packet by packet, as RFC 5348 (5.1 to 5.5) has it."""
    highest, highest_at = arrivals[0]
    order = 0
    missing: dict[int, tuple[int, float]] = {}  # seq -> (arrivals in order when it was missed, its time)
    starts: list[tuple[int, float]] = []
    intervals: list[float] = []
    discounts: list[float] = []

    def mean() -> float:
        pairs = list(zip(weights, intervals, discounts, strict=False))
        return sum(w * i * d for w, i, d in pairs) / sum(w * d for w, _, d in pairs)

    def discount(size: float) -> float:
        return max(LEAST_DISCOUNT, 2 * mean() / size) if discounting and size > 2 * mean() else 1.0

    for seq, at in arrivals[1:]:
        if seq <= highest:
            missing.pop(seq, None)
            continue
        order += 1
        for lost in range(highest + 1, seq):
            missing[lost] = (order, highest_at + (lost - highest) / (seq - highest) * (at - highest_at))
        highest, highest_at = seq, at
        for lost in sorted(missing):
            noticed, lost_at = missing[lost]
            if noticed > order - 2:
                continue
            del missing[lost]
            if not starts:
                intervals, discounts = [initial], [1.0]
            elif lost_at > starts[-1][1] + rtt:
                factor = discount(lost - starts[-1][0])
                intervals = [lost - starts[-1][0], *intervals][: len(weights)]
                discounts = [1.0, *(d * factor for d in discounts)][: len(weights)]
            else:
                continue
            starts.append((lost, lost_at))
    if not starts:
        return 0, 0.0
    size = max(1, highest - starts[-1][0])
    factor = discount(size)
    older = list(zip(weights[1:], intervals, discounts, strict=False))
    total = weights[0] * size + factor * sum(w * i * d for w, i, d in older)
    weight = weights[0] + factor * sum(w * d for w, _, d in older)
    return len(starts), min(1.0, 1 / max(total / weight, mean(), 1.0))


@st.composite
def journeys(draw: st.DrawFn) -> list[tuple[int, float]]:
    """Sequence numbers and times of arrival: lost, late and doubled packets among them."""
    seed = draw(st.integers(0, 2**32))
    loss = draw(st.sampled_from([0.0, 0.01, 0.1, 0.4, 0.9]))
    late = draw(st.sampled_from([0.0, 0.05]))
    rng = random.Random(seed)
    now, seq, arrivals, delayed = 0.0, draw(st.integers(0, 2**33)), [], []
    for _ in range(draw(st.integers(1, 400))):
        seq += 1
        now += rng.choice((0.0, 0.001, 0.01, 0.05))
        if rng.random() < 0.01:
            seq += rng.randint(1, 100)
        if rng.random() < loss:
            continue
        if rng.random() < late:
            delayed.append(seq)
            continue
        arrivals.append((seq, now))
        if delayed and rng.random() < 0.4:
            arrivals.append((delayed.pop(0), now))
        if rng.random() < late:
            arrivals.append((seq, now))
    return arrivals or [(seq, now)]


@settings(max_examples=200, deadline=None)
@given(journeys(), st.sampled_from([0.00037, 0.01037, 0.0517, 0.513]), st.sampled_from([2, 8, 17, 32]), st.booleans())
def test_it_is_the_plain_model(arrivals: list[tuple[int, float]], rtt: float, count: int, discounting: bool) -> None:
    weights = interval_weights(count)
    history = LossHistory(weights, lambda: 50.0, discounting=discounting)
    for seq, at in arrivals:
        history.arrived(seq, at, rtt)
    events, rate = naive(arrivals, rtt, 50.0, weights, discounting=discounting)
    assert history.events == events
    assert history.loss_event_rate == pytest.approx(rate, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(journeys(), st.sampled_from([0.01037, 0.0517, 0.213]))
def test_remodelling_gives_the_history_that_the_right_rtt_would_have(
    arrivals: list[tuple[int, float]], rtt: float
) -> None:
    history = LossHistory(WEIGHTS, lambda: 64.0, discounting=False)
    right = LossHistory(WEIGHTS, lambda: 64.0, discounting=False)
    for seq, at in arrivals:
        history.arrived(seq, at, 0.5)
        right.arrived(seq, at, rtt)
    if history.events == 0:
        return
    initial = history.initial_interval is not None
    history.remodel(rtt, 1.0)
    assert history.events == right.events or len(arrivals) > LOG_RANGES
    if initial:
        assert history.loss_event_rate == pytest.approx(right.loss_event_rate, rel=1e-9)
    else:
        assert 0 < history.loss_event_rate <= 1


@given(journeys())
def test_rates_stay_within_their_range(arrivals: list[tuple[int, float]]) -> None:
    history = LossHistory(WEIGHTS, lambda: math.inf)
    for seq, at in arrivals:
        history.arrived(seq, at, 0.1)
        assert 0 <= history.loss_event_rate <= 1


def test_the_weights_are_the_papers() -> None:
    assert [round(5 * weight, 9) for weight in WEIGHTS] == [5, 5, 5, 5, 4, 3, 2, 1]
    for count in range(2, 33):
        weights = interval_weights(count)
        assert len(weights) == count
        assert list(weights) == sorted(weights, reverse=True)
        assert weights[-1] > 0
    with pytest.raises(ValueError, match="at least 2"):
        interval_weights(1)


def test_a_gap_is_a_loss_with_the_third_packet_after_it() -> None:
    history = LossHistory(WEIGHTS, lambda: 100.0)
    for seq in (0, 1, 3, 4):
        history.arrived(seq, seq * 0.01, 0.05)
    assert history.events == 0
    assert history.arrived(5, 0.05, 0.05)
    assert (history.events, history.lost_packets) == (1, 1)
    assert not history.arrived(2, 0.06, 0.05)


def test_a_packet_that_was_overtaken_twice_is_not_lost() -> None:
    history = LossHistory(WEIGHTS, lambda: 100.0)
    for seq in (0, 2, 3, 1, 4, 5, 6):
        assert history.arrived(seq, seq * 0.01, 0.05)
    assert history.events == 0


def test_a_duplicate_is_told() -> None:
    history = LossHistory(WEIGHTS, lambda: 100.0)
    assert [history.arrived(seq, 0.0, 0.05) for seq in (4, 5, 5, 4, 3)] == [True, True, False, False, False]


def test_regular_losses_give_their_rate() -> None:
    history = LossHistory(WEIGHTS, lambda: 1000.0)
    for seq in range(5000):
        if seq % 100:
            history.arrived(seq, seq * 0.01, 0.05)
    assert history.loss_event_rate == pytest.approx(0.01, rel=0.01)


def test_an_outage_of_a_million_packets_costs_no_loop_over_them() -> None:
    history = LossHistory(WEIGHTS, lambda: 1000.0)
    history.arrived(0, 0.0, 0.05)
    for seq in range(10**9, 10**9 + 4):
        history.arrived(seq, 100.0, 0.05)
    assert history.lost_packets == 10**9 - 1
    assert history.events == pytest.approx(2000, rel=0.01)
    assert history.loss_event_rate == pytest.approx(2000 / 10**9, rel=0.01)


def test_discounting_forgets_faster_when_losses_cease() -> None:
    rates = []
    for discounting in (False, True):
        history = LossHistory(WEIGHTS, lambda: 20.0, discounting=discounting)
        for seq in range(1000):
            if seq % 20:
                history.arrived(seq, seq * 0.01, 0.05)
        for seq in range(1000, 1600):
            history.arrived(seq, seq * 0.01, 0.05)
        rates.append(history.loss_event_rate)
    assert rates[1] < rates[0]


def test_the_initial_interval_is_corrected_with_the_first_measurement() -> None:
    # Appendix B: an initial RTT too high by 5 makes the interval too large by 25.
    initial = 1 / loss_event_rate(50e3, 0.5, 1000)
    history = LossHistory(WEIGHTS, lambda: initial)
    for seq in (0, 2, 3, 4):
        history.arrived(seq, seq * 0.01, 0.5)
    history.remodel(0.1, (0.1 / 0.5) ** 2)
    assert history.loss_event_rate == pytest.approx(25 / initial, rel=1e-9)


def test_marks_are_as_good_as_losses() -> None:
    lost, marked = (LossHistory(WEIGHTS, lambda: 50.0) for _ in range(2))
    for seq in range(2000):
        at = seq * 0.01
        hit = seq % 97 in (40, 44)  # both in one round trip time
        if not hit:
            lost.arrived(seq, at, 0.1)
        marked.arrived(seq, at, 0.1)
        if hit:
            marked.marked(seq, at, 0.1)
    assert marked.events == lost.events == 21
    assert marked.loss_event_rate == pytest.approx(lost.loss_event_rate)
    assert marked.lost_packets == 0
    lost.remodel(0.01, 1.0)
    marked.remodel(0.01, 1.0)
    assert marked.events == lost.events == 42
    marked.marked(3, 99.0, 0.1)  # overtaken by all that is known
    assert marked.events == 42


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 40)), min_size=1, max_size=40), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_run_counts_as_its_packets(runs: list[tuple[int, int]], discounting: bool) -> None:
    """`runs`: packets lost before each, and how many come together then."""
    alone, together = (LossHistory(WEIGHTS, lambda: 50.0, discounting=discounting) for _ in range(2))
    seq = 0
    for number, (lost, count) in enumerate(runs):
        seq += lost
        at = number * 0.02
        for one in range(count):
            alone.arrived(seq + one, at + one * 1e-4, 0.05)
        together.arrived_run(seq, count, at, at + (count - 1) * 1e-4, 0.05)
        seq += count
        assert together.highest == alone.highest
        assert together.highest_at == pytest.approx(alone.highest_at)
    assert (together.events, together.lost_packets) == (alone.events, alone.lost_packets)
    assert together.loss_event_rate == pytest.approx(alone.loss_event_rate)
