"""ARTT with today's rules, from measurements given by hand."""

from random import Random

import pytest

from hosts.protocols.webrc.estimators import ALPHA, RttEstimator
from hosts.protocols.webrc.today_rtt import REMEMBERED, TodayRttEstimator

RTT, GAP = 0.06, 0.018


def started() -> TodayRttEstimator:
    estimator = TodayRttEstimator(floor=0.75, alpha=ALPHA, lasts_s=10.0)
    estimator.begin(0.25)
    return estimator


def opened(rng: Random, rtt: float = RTT) -> float:
    """How long a join takes that fetches its wave."""
    return rtt + GAP * rng.random()


def followed(rng: Random) -> float:
    """Of a wave that flows at the next router already."""
    return GAP * rng.random()


def test_waves_that_others_had_joined_say_nothing_of_the_way() -> None:
    rng, estimator = Random(1), started()
    for _ in range(20):
        estimator.update(opened(rng), GAP)
        for _ in range(REMEMBERED // 2 - 1):
            estimator.update(followed(rng), GAP)
    assert estimator.artt == pytest.approx(RTT, abs=GAP / 2)
    for _ in range(REMEMBERED):  # the way is another one, or others always come first
        estimator.update(followed(rng), GAP)
    assert estimator.artt is not None
    assert estimator.artt < RTT / 2


def test_a_first_packet_that_was_lost_is_no_long_way() -> None:
    rng, estimator = Random(2), started()
    for _ in range(6):
        estimator.update(opened(rng), GAP)
    estimator.update(opened(rng) + 4 * GAP, GAP)
    for _ in range(6):
        estimator.update(followed(rng), GAP)
    assert estimator.artt == pytest.approx(RTT, rel=0.25)


def test_a_way_that_becomes_longer_is_seen_with_two_joins() -> None:
    rng, estimator = Random(3), started()
    for _ in range(REMEMBERED):
        estimator.update(opened(rng), GAP)
    for _ in range(2):
        estimator.update(opened(rng, 4 * RTT), GAP)
    assert estimator.artt == pytest.approx(4 * RTT, rel=0.25)


def test_a_queue_that_a_coarse_measurement_has_seen_counts_for_a_time() -> None:
    estimator = TodayRttEstimator(floor=0.75, alpha=ALPHA, lasts_s=10.0)
    estimator.begin(0.25)
    estimator.update(0.02, 0.08, at=1.0)
    estimator.update(0.2, 0.08, at=2.0)  # no less than 0.12
    assert estimator.artt == pytest.approx(0.12)
    estimator.look(12.0)
    assert estimator.artt == pytest.approx(0.12)
    estimator.look(12.1)
    assert estimator.artt == pytest.approx(0.02)


def test_where_gaps_are_longer_than_the_round_trip_the_shortest_measurement_counts() -> None:
    rng = Random(8)
    bounded, plain = started(), RttEstimator(floor=0.75)
    rtt, gap = 0.01, 0.08
    found = []
    for estimator in (bounded, plain):
        estimator.begin(0.25)
        total = 0.0
        for _ in range(40):
            total += estimator.update(rtt + gap * rng.random(), gap)
        found.append(total / 40)
    assert rtt < found[0] < rtt + gap / 3
    for _ in range(40):  # with short gaps both average
        for estimator in (bounded, plain):
            estimator.update(rtt, 0.001)
    assert bounded.artt == pytest.approx(rtt, rel=0.1)


def test_a_wait_longer_than_its_gap_was_the_way_s() -> None:
    """However short the measurements before it, when waves flowed to others already."""
    estimator = TodayRttEstimator(floor=0.75, alpha=ALPHA, lasts_s=10.0)
    estimator.begin(0.25)
    for _ in range(20):
        estimator.update(0.001, 0.014)
    assert estimator.artt == pytest.approx(0.001)
    estimator.update(0.030, 0.014)
    assert estimator.artt == pytest.approx(0.016)
    for _ in range(4):  # the queue is gone
        estimator.update(0.001, 0.014)
    assert estimator.artt == pytest.approx(0.001)
