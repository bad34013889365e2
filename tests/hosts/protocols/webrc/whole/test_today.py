"""Today's rules with their defaults but for the session rate: alone behind a link, beside a TCP, and with queues that
mark."""

from typing import Any

import pytest

from hosts.protocols.webrc.options import WebrcOptions
from tests.hosts.protocols.webrc.memory import PAPER
from tests.hosts.protocols.webrc.world import World, one_way

DEFAULTS: dict[str, Any] = {name: getattr(WebrcOptions(), name) for name in PAPER}
LINK_BPS = 3e6
BITS = 8 * WebrcOptions().packet_bytes


def world(*, packets: int, seed: int = 1, **queue: Any) -> World:
    return World(
        [{}],
        shared=one_way(0.04, rate_bps=LINK_BPS, limit_packets=packets, **queue),
        options={**DEFAULTS, "session_rate_bps": 4 * LINK_BPS},
        seed=seed,
    )


def rate(of: World, since: float, until: float) -> float:
    of.sim.run(since)
    before = of.packets(0)
    of.sim.run(until)
    return (of.packets(0) - before) * BITS / (until - since)


@pytest.mark.parametrize("packets", [5, 10, 40])
def test_alone_a_receiver_has_the_link_within_ten_seconds(packets: int) -> None:
    found = world(packets=packets)
    assert rate(found, 10.0, 40.0) >= 0.8 * LINK_BPS


@pytest.mark.parametrize("kind", ["reno", "cubic"])
def test_beside_a_tcp_that_was_first_a_receiver_has_a_share(kind: Any) -> None:
    assert 0.4 <= share(world(packets=10), kind) <= 2.5


def share(found: World, kind: Any, **options: Any) -> float:
    """A receiver's rate from 30 to 70 s, of a TCP's."""
    sim = found.sim
    sim.add_host("x", "10.9.0.1")
    sim.connect("x", "core", {}, {})
    source, _ = sim.add_tcp("x", "r0", congestion_control=kind, **options)
    sim.run(30.0)
    before = sim.program_stats(source)["acknowledged_bytes"]
    webrc = rate(found, 30.0, 70.0)
    after = sim.program_stats(source)["acknowledged_bytes"]
    return webrc * 40.0 / float(8 * (after - before))


def test_marks_slow_a_receiver_down_and_nothing_is_lost() -> None:
    found = world(packets=200, queue="codel")
    assert rate(found, 10.0, 40.0) >= 0.8 * LINK_BPS
    receiver = found.receivers[0]
    assert receiver.counters["marked"] > 0
    assert receiver.control.loss_events > 0
    assert receiver.lost_packets < 20


@pytest.mark.parametrize("queue", ["pie", "dualpi2"])
def test_beside_a_tcp_that_is_marked_a_receiver_has_a_share(queue: str) -> None:
    found = world(packets=200, queue=queue)
    assert 0.4 <= share(found, "cubic", ecn="classic") <= 2.5
    assert found.receivers[0].counters["marked"] > 0


def test_receivers_that_follow_each_other_see_the_queue_that_they_fill() -> None:
    """Most join waves that flow to others already, and measure nothing of the way that the first packets take. With
    ARTT so short more than a third would be lost, and one of them have most of the link."""
    link = 2e6
    found = World(
        [{}] * 5,
        shared=one_way(0.006, rate_bps=link, limit_packets=4),
        options={**DEFAULTS, "session_rate_bps": 10 * link},
        seed=3,
    )
    found.sim.run(15.0)
    before = [(found.packets(number), found.receivers[number].lost_packets) for number in range(5)]
    found.sim.run(40.0)
    after = [(found.packets(number), found.receivers[number].lost_packets) for number in range(5)]
    for (received, lost), (then, then_lost) in zip(after, before, strict=True):
        assert (received - then) * BITS / 25.0 >= 0.4 * link
        assert lost - then_lost <= 0.22 * (lost - then_lost + received - then)
