"""A receiver's rates, epoch by epoch."""

import pytest

from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.waves import Waves, joined_rate
from tests.hosts.protocols.webrc.fluid_path import EPOCH


def test_arr_follows_the_waves_through_joins_and_slots() -> None:
    """Without packets' counts weighing in much, ARR is the joined channels' fluid rate (RFC 3738, 3.2.2.5)."""
    waves = Waves(2000.0)
    rates = Rates(waves, EPOCH)
    rates.first_packet(0)
    for epoch in range(1, 200):
        if epoch % 20 == 0:
            rates.slot_changed()
        x = epoch % 20 / 20
        expected = joined_rate(rates.waves_joined, 1.0, 0.75) * 0.75**x
        middle = expected * 0.75 ** (-0.5 / 20)
        rates.count(round(middle * EPOCH), 0)
        rates.epoch(starting_up=False)
        assert rates.arr == pytest.approx(expected, rel=0.06, abs=0.4)
        if epoch % 7 == 0 and rates.waves_joined < 12:
            rates.joined()


def test_the_share_that_is_lost() -> None:
    rates = Rates(Waves(2000.0), EPOCH)
    assert rates.lost_share == 0
    rates.first_packet(0)
    for _ in range(300):
        rates.count(18, 2)
        rates.epoch(starting_up=False)
    assert rates.lost_share == pytest.approx(0.1)
