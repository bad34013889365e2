"""Sessions of several rates in virtual time."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from hosts.protocol import Session
from hosts.protocols.arbor import PROTOCOL
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.simulcast_receiver import SimulcastReceiver
from hosts.protocols.arbor.simulcast_sender import SimulcastSender
from tests.hosts.protocols.arbor.world import PAYLOAD
from tests.hosts.star import GROUP, PACKET_BYTES, Star


class World(Star[SimulcastSender, Any]):
    """Receivers behind links of their own."""

    def __init__(self, receivers: Sequence[Mapping[str, Any]], *, rungs: int, seed: int = 1) -> None:
        super().__init__(
            SimulcastSender,
            SimulcastReceiver,
            ArborOptions(payload_bytes=PAYLOAD, rungs=rungs),
            receivers,
            bottleneck={"rate_bps": 1e9, "limit_packets": 1000},
            seed=seed,
            deliver=True,
        )

    def rates(self, since: float, until: float) -> list[float]:
        """Bit/s on each receiver's link."""
        self.run(since)
        before = [receiver.data_packets for receiver in self.receivers]
        self.run(until)
        after = [receiver.data_packets for receiver in self.receivers]
        return [(b - a) * PACKET_BYTES * 8 / (until - since) for a, b in zip(before, after, strict=True)]


def _link(rate_bps: float, delay_us: float) -> dict[str, float]:
    """With a queue of a bandwidth-delay product, and 20 packets at least."""
    return {
        "rate_bps": rate_bps,
        "delay_us": delay_us,
        "limit_packets": max(20, int(rate_bps * 2e-6 * delay_us / 8 / PACKET_BYTES)),
    }


@pytest.mark.parametrize("delay_us", [3_000.0, 30_000.0])
def test_each_receiver_has_its_own_link_s_rate(delay_us: float) -> None:
    links = (0.35e6, 0.7e6, 1.6e6)
    world = World([_link(rate, delay_us) for rate in links], rungs=12, seed=4)
    rates = world.rates(16, 24)
    assert all(got > 0.7 * link for got, link in zip(rates, links, strict=True))


def test_who_shares_a_rung_has_a_rung_s_step_less_at_most() -> None:
    links = (1.0e6, 1.15e6, 1.25e6, 0.3e6)
    world = World([_link(rate, 10_000.0) for rate in links], rungs=8, seed=5)
    rates = world.rates(25, 40)
    assert all(got > 0.65 * link for got, link in zip(rates, links, strict=True))


def test_after_its_link_has_lost_three_quarters_a_receiver_goes_down_and_the_others_stay() -> None:
    world = World([_link(2e6, 10_000.0), _link(2e6, 10_000.0)], rungs=10, seed=6)
    world.run(15)
    slow = _link(0.5e6, 10_000.0)
    world.sim.configure_link_at(15.0, world.links[1], forth=slow, back=slow)  # type: ignore[arg-type]
    fast, slowed = world.rates(25, 35)
    assert fast > 0.7 * 2e6
    assert slowed > 0.7 * 0.5e6


def test_what_is_delivered_is_counted_through_all_rungs_and_the_end_is_told() -> None:
    world = World([_link(1e6, 5_000.0)], rungs=6)
    world.run(8)
    receiver = world.receivers[0]
    assert receiver.moves > 0
    packets = world.delivered[0]
    assert [packet.seq for packet in packets] == sorted({packet.seq for packet in packets})
    assert [packet.offset for packet in packets] == sorted({packet.offset for packet in packets})
    world.sender.finish(now=8.0)
    world.run(12)
    assert receiver.closed


def test_a_file_has_one_rate() -> None:
    with pytest.raises(ValueError, match="rungs"):
        PROTOCOL.sender(Session(GROUP), Random(1), {"rungs": 3})
