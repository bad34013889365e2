"""Whole sessions in virtual time: bottlenecks, leaders that die, a busy way back, clocks that drift."""

import pytest

from tests.hosts.vlmcc.world import World

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


@pytest.mark.parametrize("ppm", [100.0, -100.0])
def test_an_hour_of_drift_makes_no_follower_challenge(ppm: float) -> None:
    """At 100 kbit/s, where a packet takes 80 ms, 360 ms of drift would be more than a backlog of four."""
    world = World(
        [{"rate_bps": 100e3, "delay_us": 10_000}, {"rate_bps": 400e3, "delay_us": 10_000, "clock": (500.0, ppm)}]
    )
    world.run(120)
    assert world.leader == 0
    challenges = world.receivers[1].counters["challenges"]
    world.run(3600)
    assert world.leader == 0
    assert world.receivers[1].counters["challenges"] == challenges
    assert world.receivers[1].path.drift == pytest.approx(-ppm * 1e-6, abs=3e-6)
    assert world.rate(1, 3600, 3620) == pytest.approx(100e3, rel=0.05)


def test_what_is_delivered_is_what_arrived() -> None:
    world = World([{"rate_bps": 1e6, "loss": 0.05}], deliver=True)
    world.run(10)
    got = world.delivered[0]
    assert len(got) == world.receivers[0].data_packets
    assert [one.offset for one in got] == [one.seq * world.options.payload_bytes for one in got]
    assert world.sender.control.lost_packets > 0


def test_a_receiver_that_cannot_take_the_least_rate_leaves() -> None:
    world = World(
        [{"rate_bps": 2e6}, {"rate_bps": 0.3e6, "join": 5.0}], options={"least_rate_bps": 800e3}, bottleneck=None
    )
    world.run(30)
    assert world.receivers[1].closed
    assert world.leader == 0
    assert world.rate(0, 30, 40) > 1.9e6
