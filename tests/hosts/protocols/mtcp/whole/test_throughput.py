"""How full the bottleneck gets, and how it is shared; all in virtual time, from fixed seeds."""

import pytest

from hosts.endpoint import CongestionSignal
from tests.hosts.protocols.mtcp.world import World

PAPER = {"rules": "paper"}

DELAYS_S = (0.002, 0.006, 0.011, 0.017)
"""With the 3 ms before the receivers' links: round trip times of 10 to 40 ms."""


@pytest.mark.parametrize(("rate_bps", "limit_packets"), [(10e6, 64), (20e6, 64), (10e6, 20)])
def test_one_percent_loss_at_one_leaf(rate_bps: float, limit_packets: int) -> None:
    world = World(
        4,
        size=None,
        parameters=PAPER,
        rate_bps=rate_bps,
        limit_packets=limit_packets,
        delays_s=DELAYS_S,
        losses={3: 0.01},
    )
    world.network.run(6)
    assert world.share(3, 6) > 0.95


def test_independent_loss_costs_nothing() -> None:
    """Each of eight receivers loses 1 %: hardly a window without a loss, and still no congestion. The repairs, 8 % of
    the packets here, are unicast over the same bottleneck.
    """
    world = World(8, size=None, parameters=PAPER, delays_s=DELAYS_S, losses=dict.fromkeys(range(8), 0.01))
    world.network.run(6)
    assert world.share(3, 6) * 1.08 > 0.96
    # A loss while the window is a packet or two has nothing behind it that could show the gap.
    assert [event for time, event in world.sender.events if isinstance(event, CongestionSignal) and time > 1.0] == []
    counters = world.sender_core.counters
    lost = sum(link.losses for link, _ in world.links)
    assert counters["repair_packets"] < 1.1 * lost


def test_a_busy_machine() -> None:
    """Programs get the processor only every ten milliseconds or so: their datagrams wait, but not in the network."""
    world = World(4, size=None, parameters=PAPER, delays_s=DELAYS_S, losses={3: 0.01})
    for index, host in enumerate(world.network.hosts.values()):
        host.quantum_s = 0.008 + 0.001 * index
    world.network.run(7)
    assert world.share(4, 7) > 0.9


def _with_tcp(limit_packets: int, seed: int) -> tuple[float, float]:
    """Shares of MTCP by the paper's rules and of one TCP on the bottleneck, 20 ms round trip time for both, from 10 to
    30 s.
    """
    world = World(2, seed=seed, size=None, parameters=PAPER, delays_s=(0.007, 0.007), limit_packets=limit_packets)
    client = world.add_tcp()
    world.network.run(30)
    return world.share(10, 30), client.rate_bps(10, 30) / (10e6 * 1400 / 1454)


@pytest.mark.parametrize("seed", [1, 2])
def test_sharing_with_tcp(seed: int) -> None:
    """A queue of two thirds of the bandwidth-delay product: neither starves, and hardly anything is wasted."""
    mtcp, tcp = _with_tcp(12, seed)
    assert mtcp + tcp > 0.9
    assert 0.4 < mtcp / tcp < 2.5


def test_a_deep_queue_is_tcp_s() -> None:
    """Vegas gives way to a TCP that fills a deep queue: it keeps a share, and never takes more than half."""
    mtcp, tcp = _with_tcp(80, 1)
    assert mtcp + tcp > 0.9
    assert 0.05 < mtcp / tcp < 1


def test_the_slowest_application_sets_the_pace() -> None:
    """One of three reads at 2 Mbit/s: all go at that rate, nothing is lost, and no buffer overflows."""
    buffer_bytes = 100_000
    world = World(3, size=1_500_000, parameters={"buffer_bytes": buffer_bytes})
    slow = world.receivers[1]
    slow.consume_bps = 2e6
    held: list[int] = []

    def watch() -> None:
        sample = slow.endpoint.sample(now=slow.now)
        held.append(int(str(sample["unconsumed_bytes"])) + 1400 * int(str(sample["early_packets"])))
        if not slow.endpoint.closed:
            world.network.at(world.network.now + 0.01, watch)

    world.network.at(0.5, watch)
    world.finish()
    world.assert_all_have_it()
    assert buffer_bytes * 0.9 < max(held) <= buffer_bytes
    assert world.core(1).counters["drop_outside_window"] == 0
    (last, _) = world.receivers[0].progress[-1]
    assert last == pytest.approx(1_500_000 * 8 / 2e6, rel=0.15)
    assert world.sender_core.counters["repair_packets"] == 0


def test_an_application_that_stops_reading_is_given_up() -> None:
    world = World(2, size=1_000_000, parameters={"buffer_bytes": 100_000, "drop_after_s": 5})
    world.receivers[0].consume_bps = 1.0
    world.finish()
    assert world.receivers[1].received == world.data
    assert world.sender.end is not None
    assert "made no progress for too long" in world.sender.end.reason
    assert world.receivers[0].end is not None
    assert "made no progress for too long" in world.receivers[0].end.reason


def test_the_rate_limit() -> None:
    world = World(2, size=None, parameters={"rate_limit_bps": 3e6})
    world.network.run(5)
    assert world.receivers[0].rate_bps(2, 5) == pytest.approx(3e6, rel=0.02)
    assert world.bottleneck.overflows == 0


def test_feedback_is_delayed_and_bounded() -> None:
    """One acknowledgment for four packets while data flows, more while the window is small, hardly any in silence."""
    world = World(1, size=400_000)
    world.finish()
    packets = world.sender_core.counters["data_packets"]
    assert packets / 4 <= world.sender_core.counters["feedback_packets"] <= packets / 2
