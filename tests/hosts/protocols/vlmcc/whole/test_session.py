"""Whole sessions in virtual time: bottlenecks, leaders that die, a thousand followers, clocks that drift."""

import pytest

from hosts.endpoint import Address
from hosts.protocols.vlmcc.packets import Challenge
from tests.hosts.protocols.vlmcc.world import World
from tests.hosts.star import PORT

SLOW = {"rate_bps": 1e6, "delay_us": 10_000, "limit_packets": 50}


def test_a_bottleneck_is_filled_without_a_loss_after_the_start_and_without_a_new_leader() -> None:
    world = World([{"delay_us": 1000}, {"delay_us": 3000}], bottleneck=SLOW)
    world.run(5)
    lost, changes = world.receivers[0].gaps.lost_packets, world.sender.counters["leader_changes"]
    assert world.rate(0, 5, 25) > 0.98e6
    assert world.receivers[0].gaps.lost_packets == lost
    assert world.sender.counters["leader_changes"] == changes
    backlog = world.sender.control.window.cwnd * (1 - world.sender.control.base_rtt / world.sender.control.smoothed_rtt)
    assert world.options.alpha - 0.5 <= backlog <= world.options.beta + 0.5


def test_the_worst_receiver_leads_and_the_session_goes_at_its_rate() -> None:
    world = World([{"rate_bps": rate} for rate in (5e6, 2e6, 0.5e6, 3e6)], seed=2)
    assert world.rate(2, 10, 20) == pytest.approx(0.5e6, rel=0.04)
    assert world.leader == 2


def test_a_leader_that_dies_is_replaced_by_a_challenge_and_the_rate_holds() -> None:
    world = World([{"rate_bps": 1e6}, {"rate_bps": 1.5e6}, {"rate_bps": 1.5e6}])
    before = world.rate(1, 10, 20)
    assert world.leader == 0
    world.sim.kill_at(20.0, world.programs[0])
    challenges = world.sender.counters["challenges"]
    assert world.rate(1, 20.5, 23) >= 0.95 * before
    world.run(60)
    assert world.leader in (1, 2)
    assert world.sender.counters["leaders_lost"] == 1
    assert world.sender.counters["challenges"] - challenges <= 10
    assert world.rate(1, 60, 70) == pytest.approx(1.5e6, rel=0.04)


def test_a_slow_receiver_behind_a_long_queue_leads() -> None:
    """64 packets at 100 kbit/s wait for five seconds, more than the longest round trip that the sender reckons with."""
    world = World([{"rate_bps": 100e3, "delay_us": 10_000}, {"rate_bps": 400e3, "delay_us": 10_000}])
    world.run(40)
    assert world.leader == 0
    assert world.rate(1, 40, 60) == pytest.approx(100e3, rel=0.05)


def test_a_thousand_followers_do_not_challenge_all_at_once() -> None:
    """All behind one link, so that what happens to one happens to all: it shrinks, their leader dies, it shrinks."""
    link = {"delay_us": 10_000, "limit_packets": 20}
    receivers = [{"delay_us": 1000.0 + number} for number in range(1000)]
    world = World(receivers, bottleneck={**link, "rate_bps": 1e6})
    for time, rate in ((2.0, 200e3), (7.0, 100e3)):
        world.sim.configure_link_at(time, world.bottleneck, forth={**link, "rate_bps": rate})  # type: ignore[arg-type]
    world.run(5)
    leader = world.leader
    assert leader is not None
    assert world.sender.members.knows(world.receivers[999].id, Address("10.1.3.231", PORT))
    world.sim.kill_at(5.0, world.programs[leader])
    world.run(14)
    assert world.leader not in (None, leader)
    times = [time for time, packet in world.greedy.heard if isinstance(packet, Challenge)]
    # six are expected in a round trip, which is longer than that
    assert 1 <= max(sum(time <= later < time + 0.2 for later in times) for time in times) <= 20
    assert len(times) <= 50
    assert world.rate(3, 14, 18) == pytest.approx(100e3, rel=0.3)


def test_congestion_on_the_way_back_does_not_make_a_follower_challenge() -> None:
    """The queue on the follower's own way back grows to half a second; its leader elsewhere is not concerned."""
    world = World([{"rate_bps": 1e6, "delay_us": 10_000}, {"rate_bps": 3e6, "delay_us": 10_000}])
    world.run(10)
    assert world.leader == 0
    slow_back = {"rate_bps": 1e3, "delay_us": 500_000.0, "limit_packets": 100}
    forth = {"rate_bps": 3e6, "delay_us": 10_000.0}
    world.sim.configure_link_at(10.0, world.links[1], forth=forth, back=slow_back)  # type: ignore[arg-type]
    challenges = world.receivers[1].counters["challenges"]
    world.run(40)
    assert world.leader == 0
    assert world.receivers[1].counters["challenges"] == challenges
    assert world.receivers[1].following.rtt.mean < 0.05


@pytest.mark.parametrize("ppm", [300.0, -300.0])
def test_an_hour_s_drift_makes_no_follower_challenge(ppm: float) -> None:
    """At 100 kbit/s, where a packet takes 80 ms, 360 ms of drift would be more than a backlog of four: those of an hour
    at 100 ppm, here in a third of it."""
    world = World(
        [{"rate_bps": 100e3, "delay_us": 10_000}, {"rate_bps": 400e3, "delay_us": 10_000, "clock": (500.0, ppm)}]
    )
    world.run(120)
    assert world.leader == 0
    challenges = world.receivers[1].counters["challenges"]
    world.run(1200)
    assert world.leader == 0
    assert world.receivers[1].counters["challenges"] == challenges
    assert world.receivers[1].path.drift == pytest.approx(-ppm * 1e-6, abs=3e-6)
    assert world.rate(1, 1200, 1220) == pytest.approx(100e3, rel=0.05)


def test_what_is_delivered_is_what_arrived() -> None:
    world = World([{"rate_bps": 1e6, "loss": 0.05}], deliver=True)
    world.run(10)
    got = world.delivered[0]
    assert len(got) == world.receivers[0].data_packets
    assert [one.offset for one in got] == [one.seq * world.options.payload_bytes for one in got]
    assert world.sender.control.lost_packets > 0


def test_a_receiver_that_cannot_take_the_least_rate_leaves() -> None:
    world = World(
        [{"rate_bps": 2e6}, {"rate_bps": 0.3e6, "join": 5.0, "limit_packets": 10}],
        options={"least_rate_bps": 800e3},
        bottleneck=None,
    )
    world.run(30)
    assert world.receivers[1].closed
    assert world.leader == 0
    assert world.rate(0, 30, 40) > 1.9e6
