"""Intervals between loss events, in seconds."""

import pytest

from hosts.protocols.webrc.loss_times import LossTimes


def test_the_mean_is_of_the_last_eight_and_of_the_present_one_where_that_is_longer() -> None:
    times = LossTimes()
    times.event(5.0)
    assert times.mean(100.0) == 0.0
    times.begin(2.0)
    assert times.mean(1.0) == 2.0
    assert times.mean(4.0) == 3.0
    for _ in range(7):
        times.event(6.0)
    assert times.mean(0.0) == pytest.approx((5.8 * 6.0 + 0.2 * 2.0) / 6)
    times.event(6.0)
    assert times.mean(0.0) == pytest.approx(6.0)
    assert times.mean(12.0) == pytest.approx(7.0)
