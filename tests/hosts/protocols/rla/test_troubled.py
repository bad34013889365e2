from math import inf

import pytest

from hosts.protocols.rla.troubled import TroubledReceivers


def receivers(count: int, eta: float = 20.0) -> TroubledReceivers:
    troubled = TroubledReceivers(eta, gain=0.125)
    for number in range(count):
        troubled.add(number, 0.0)
    return troubled


def test_receivers_with_equal_trouble_all_count() -> None:
    troubled = receivers(27)
    for step in range(1, 20):
        for number in range(27):
            assert troubled.signal(number, step + number / 100)
    assert troubled.count == 27


def test_who_signals_rarely_is_not_counted() -> None:
    troubled = receivers(2)
    for step in range(1, 1000):
        assert troubled.signal(0, step * 1.0)
        if step % 21 == 0:
            assert not troubled.signal(1, step + 0.5), "its interval is 21 times the smallest"
    assert troubled.count == 1


def test_who_signals_often_enough_is_counted() -> None:
    troubled = receivers(2)
    last = False
    for step in range(1, 1000):
        troubled.signal(0, step * 1.0)
        if step % 15 == 0:
            last = troubled.signal(1, step + 0.5)
    assert last
    assert troubled.count == 2


def test_trouble_that_is_over_is_forgotten() -> None:
    troubled = receivers(2)
    for step in range(1, 100):
        troubled.signal(0, step * 0.1)
        troubled.signal(1, step * 0.1)
    assert troubled.count == 2
    for step in range(100, 200):
        troubled.signal(1, step * 0.1)
    assert troubled.count == 1


def test_the_smallest_interval_belongs_to_those_that_are_there() -> None:
    troubled = receivers(2)
    assert troubled.min_congestion_interval(5.0) == inf
    troubled.signal(0, 1.0)
    troubled.signal(1, 9.0)
    troubled.remove(0)
    assert troubled.min_congestion_interval(9.0) == 9.0
    assert troubled.interval(1, 12.0) == 9.0
    assert troubled.interval(1, 30.0) == 21.0


def test_who_signals_much_more_often_than_the_others_is_as_alone() -> None:
    troubled = receivers(9)
    for step in range(1, 20):
        for number in range(9):
            troubled.signal(number, step + number / 100)
    assert troubled.alike == pytest.approx(9, abs=0.1)
    for step in range(20, 220):
        troubled.signal(0, step * 1.0)
        troubled.signal(1 + step % 8, step + 0.5)
    assert troubled.count == 9
    assert troubled.alike == pytest.approx((1 + 8 / 8) ** 2 / (1 + 8 / 8**2), rel=0.1)


def test_who_has_signalled_several_times_since_anybody_else_did_is_alone() -> None:
    """Means over many signals would show it after many: they are as before."""
    troubled = receivers(9)
    for step in range(1, 20):
        for number in range(9):
            troubled.signal(number, step + number / 100)
    for step in range(20, 23):
        troubled.signal(8, step * 1.0)
    assert troubled.count == 9, "their last signals are not long ago"
    assert troubled.alike == 1
    troubled.signal(0, 23.0)
    assert troubled.alike > 3
