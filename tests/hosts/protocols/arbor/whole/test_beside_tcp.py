"""The emulated window beside the simulator's own TCPs: in its place where a link loses by chance, and in one queue."""

from collections.abc import Mapping
from typing import Any

import pytest
from canopy_engine import Sim

from tests.hosts.protocols.arbor.world import World
from tests.hosts.star import PACKET_BYTES, add_tcp, link_spec, way_back

HEADERS = 52
"""Of TCP's packets: what they carry is told without."""


def _cubic_alone(bottleneck: Mapping[str, Any], since: float, until: float, seed: int) -> float:
    """Bit/s on the link."""
    sim = Sim(seed)
    sim.add_router("core")
    sim.add_router("edge")
    sim.connect("core", "edge", link_spec(bottleneck), way_back(bottleneck))
    source = add_tcp(sim, "cubic")
    sim.run(since)
    before = sim.program_stats(source)["acknowledged_bytes"]
    sim.run(until)
    carried = sim.program_stats(source)["acknowledged_bytes"] - before
    return carried * PACKET_BYTES / (PACKET_BYTES - HEADERS) * 8 / (until - since)


@pytest.mark.parametrize(("loss", "delay_us"), [(0.02, 15_000.0), (0.004, 50_000.0), (0.005, 20_000.0)])
def test_where_a_link_loses_by_chance_it_has_what_a_cubic_has(loss: float, delay_us: float) -> None:
    """Nobody's window is limited by the queue: the emulated one stands beside TCP's by itself. It is RFC 9438's; the
    simulator's TCP is Linux's, which has whole packets and a fifth less at windows of ten."""
    bottleneck = {"rate_bps": 50e6, "delay_us": delay_us, "limit_packets": 400, "loss": loss}
    seeds = (1, 2, 3)
    cubic = sum(_cubic_alone(bottleneck, 10, 35, seed) for seed in seeds)
    session = sum(World([{}], bottleneck=bottleneck, seed=seed).rate(0, 10, 35) for seed in seeds)
    assert 0.85 < session / cubic < 1.35


@pytest.mark.parametrize(("rate_bps", "delay_us"), [(25e6, 400.0), (10e6, 20_000.0)])
def test_a_short_queue_is_filled(rate_bps: float, delay_us: float) -> None:
    """Nothing leaves in bursts, which would be marked."""
    world = World([{}], bottleneck={"rate_bps": rate_bps, "delay_us": delay_us, "queue": "dualpi2"}, seed=2)
    assert world.rate(0, 5, 10) > 0.95 * rate_bps


@pytest.mark.parametrize(("rate_bps", "delay_us"), [(25e6, 400.0), (10e6, 5_000.0)])
def test_beside_a_prague_in_a_short_queue(rate_bps: float, delay_us: float) -> None:
    """Both look for marks, and grow, by the reference round trip time, which is many times their own."""
    world = World([{}], bottleneck={"rate_bps": rate_bps, "delay_us": delay_us, "queue": "dualpi2"}, seed=2)
    add_tcp(world.sim, "prague")
    assert 0.4 * rate_bps < world.rate(0, 5, 12) < 0.62 * rate_bps
