"""The default rules in networks that nobody tuned, in virtual time: paths that change, TCP beside them, loss."""

import pytest

from hosts.endpoint import CongestionSignal
from tests.hosts.protocols.mtcp.world import World

RATE_BPS = 4e6
"""Low, so that a minute costs a second or two."""


def _world(limit_packets: int, delay_s: float = 0.007, receivers: int = 2, **more: object) -> World:
    return World(
        receivers,
        size=None,
        rate_bps=RATE_BPS,
        delays_s=(delay_s, delay_s),
        limit_packets=limit_packets,
        **more,  # type: ignore[arg-type]
    )


def test_a_longer_path_is_not_a_queue_for_good() -> None:
    """Each way 10 ms, then 40: what the paper's rules take for a queue of 20 packets, and give up nine tenths for."""
    world = _world(30)

    def lengthen() -> None:
        for there, back in world.links:
            there.delay_s = back.delay_s = 0.037

    world.network.at(8.0, lengthen)
    world.network.run(30)
    assert world.share(3, 8) > 0.9
    assert world.share(18, 30) > 0.85


@pytest.mark.parametrize("limit_packets", [20, 60])
def test_a_link_that_becomes_slower_has_a_smaller_window_and_no_less(limit_packets: int) -> None:
    """A fifth of the rate: behind the shorter queue much of a window is lost, behind the longer one all of it waits."""
    world = _world(limit_packets, delay_s=0.05)
    world.network.at(8.0, lambda: setattr(world.bottleneck, "rate_bps", RATE_BPS / 5))
    largest = 0.0
    for second in range(11, 25):
        world.network.run(second)
        largest = max(largest, world.sender_core.agent.congestion.window.cwnd)
    assert world.share(11, 24) > 0.85
    assert largest < 25


@pytest.mark.parametrize(
    ("receivers", "limit_packets", "least"), [(2, 10, 0.4), (2, 20, 0.5), (2, 60, 0.5), (8, 20, 0.6)]
)
def test_beside_a_tcp(receivers: int, limit_packets: int, least: float) -> None:
    """Queues of one and a half to nine bandwidth-delay products: the TCP that fills them is met. In the least, each has
    half a dozen packets in flight.
    """
    world = _world(limit_packets, receivers=receivers)
    client = world.add_tcp()
    world.network.run(30)
    tcp = client.rate_bps(10, 30) / (RATE_BPS * 1400 / 1454)
    mtcp = world.share(10, 30)
    assert mtcp + tcp > 0.9
    assert least < mtcp / tcp < 2


def test_beside_a_tcp_when_one_of_eight_loses_packets_by_chance() -> None:
    """One in a thousand, which the TCP does not lose."""
    world = World(8, size=None, rate_bps=5.2e6, delays_s=(0.015,), limit_packets=46, losses={0: 0.001})
    client = world.add_tcp()
    world.network.run(30)
    tcp = client.rate_bps(10, 30) / (5.2e6 * 1400 / 1454)
    mtcp = world.share(10, 30)
    assert mtcp + tcp > 0.9
    assert 0.5 < mtcp / tcp < 2


@pytest.mark.parametrize(("receivers", "rate_bps"), [(12, 1.3e6), (16, 3e6)])
def test_many_receivers_behind_queues_of_four_packets(receivers: int, rate_bps: float) -> None:
    """Both ways. What is lost is lost for all, and all say so; one repair each, or an answer of each at once, would be
    lost again for the most part.
    """
    world = World(receivers, size=None, rate_bps=rate_bps, delays_s=(0.001, 0.002, 0.0005), limit_packets=4)
    world.network.run(11)
    assert world.share(5, 11) > 0.6
    assert world.sender_core.counters["repair_packets"] < world.sender_core.counters["data_packets"]


def test_acknowledgments_of_eight_leave_a_narrow_way_back_open() -> None:
    """A tenth of the rate: one each four packets would take all of it."""
    world = _world(30, receivers=8)
    world.way_back.rate_bps = RATE_BPS / 10
    world.network.run(10)
    assert world.share(4, 10) > 0.75


def test_more_than_a_bitmap_is_in_flight() -> None:
    """640 packets of path, and slow start that goes on until it is filled, though its bursts wait for themselves."""
    world = World(1, size=None, rate_bps=25e6, delays_s=(0.147,), limit_packets=1000)
    world.network.run(9)
    assert world.sender_core.agent.congestion.window.cwnd > 600
    assert world.share(6, 9) > 0.9


def test_marks_are_congestion_once_for_all() -> None:
    """A queue that marks the fifth packet already: nothing is lost, and marks that all get alike are no more than
    one's.
    """
    marks = []
    for receivers in (1, 8):
        world = World(receivers, size=None, rate_bps=RATE_BPS, delays_s=(0.01,), limit_packets=60)
        world.bottleneck.mark_packets = 4
        world.network.run(10)
        kinds = [event.kind for event in world.sender.events_of(CongestionSignal)]
        assert set(kinds) == {"ecn"}
        assert world.share(5, 10) > 0.5
        marks.append(len(kinds))
    assert marks[1] < 1.5 * marks[0]


def _window(loss: float, seconds: float = 8, rate_bps: float = 50e6, **parameters: float) -> tuple[float, set[str]]:
    """Packets in flight of a session alone to eight receivers that lose other packets each, and what was congestion."""
    world = World(
        8,
        size=None,
        rate_bps=rate_bps,
        delays_s=(0.017,),
        limit_packets=200,
        losses=dict.fromkeys(range(8), loss),
        parameters=parameters,
    )
    world.network.run(seconds)
    rate = min(host.rate_bps(3, seconds) for host in world.receivers)
    return rate * 0.04 / (1400 * 8), {event.kind for event in world.sender.events_of(CongestionSignal)}


def test_one_percent_of_loss_without_a_queue_is_no_congestion() -> None:
    """Where that is asked for, on a link that holds 105 packets. A TCP would have some 12 packets in flight."""
    window, signals = _window(0.01, seconds=5, rate_bps=30e6, lossy_share=100.0)
    assert window > 80
    assert "timeout" not in signals


def test_losses_that_no_queue_explains_leave_about_as_much_as_a_tcp_has() -> None:
    """That of one who loses as much as each of them, which may be kept down by its losses beside them, unseen."""
    window, signals = _window(0.01, seconds=13)
    assert 12 < window < 24
    assert "timeout" not in signals


def test_a_near_receivers_losses_leave_the_rate_of_a_tcp_as_near() -> None:
    """It loses 1 %, 20 ms away, beside one that is 84 ms away: a TCP to it would have 12 packets in 20 ms. Of what both
    have in flight that is four times as many.
    """
    world = World(2, size=None, rate_bps=50e6, delays_s=(0.007, 0.039), limit_packets=200, losses={0: 0.01})
    world.network.run(13)
    rate = min(host.rate_bps(5, 13) for host in world.receivers)
    assert 0.8 < rate * 0.02 / (1400 * 8) / 12 < 2


def test_many_losses_are_answered_as_tcp_would_though_no_queue_explains_them() -> None:
    """Eight that lose other packets each are no worse than one of them: some 6 packets in flight."""
    window, signals = _window(0.04)
    assert 3 < window < 20
    assert "loss" in signals
