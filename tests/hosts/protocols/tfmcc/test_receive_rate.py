"""The rate at which a receiver receives."""

from random import Random

import pytest

from hosts.protocols.tfmcc.receive_rate import ReceiveRate


def test_a_receive_rate_is_that_of_some_round_trip_times() -> None:
    meter = ReceiveRate()
    assert meter.at(0.0, 0.1) == 0
    rng = Random(1)
    now = 0.0
    for _ in range(1000):
        now += rng.uniform(0.005, 0.015)
        meter.add(1000, now, 0.1)
    assert meter.at(now, 0.1) == pytest.approx(100_000, rel=0.15)
    assert meter.at(now + 10, 0.1) < 2000
