"""Whole sessions in virtual time: what goes in comes out, whatever the network does."""

import random

import pytest

from hosts.endpoint import Address, Datagram, PeerDropped, PeerFinished, PeerJoined, PeerRefused
from hosts.protocols.rla import packets
from hosts.protocols.rla.packets import Ack
from hosts.protocols.rla.receiver import RlaReceiver
from tests.hosts.protocols.rla.world import World


def check_complete(world: World) -> None:
    assert world.sender.end is not None
    assert world.sender.end.complete, world.sender.end
    for receiver in world.receivers:
        if receiver.alive:
            assert bytes(receiver.received) == world.data
            assert receiver.end is not None
            assert receiver.end.complete


def test_a_clean_network_repairs_nothing() -> None:
    world = World(3, limit_packets=1000)
    world.network.run_until_ended(60)
    check_complete(world)
    assert world.sender_core.counters["repair_packets"] == 0
    assert len(world.sender.events_of(PeerJoined)) == len(world.sender.events_of(PeerFinished)) == 3


@pytest.mark.parametrize("seed", range(20))
def test_loss_duplicates_and_reordering(seed: int) -> None:
    loss = 0.01 * (seed % 5)
    world = World(
        1 + seed % 5,
        seed=seed,
        size=120_000 + seed,
        loss=loss,
        back_loss=loss,
        duplicate=0.02,
        jitter_s=0.004 * (seed % 3),
        parameters={"rexmit_thresh": seed % 3, "processing_s": 0.001 * (seed % 2)},
    )
    world.network.run_until_ended(300)
    check_complete(world)


def test_unicast_repairs_go_to_those_who_ask() -> None:
    multicast = World(4, seed=3, loss=0.03)
    unicast = World(4, seed=3, loss=0.03, parameters={"rexmit_thresh": 100})
    for world in (multicast, unicast):
        world.network.run_until_ended(120)
        check_complete(world)
    repeats = [
        sum(host.endpoint.counters["duplicate_packets"] for host in world.receivers) for world in (multicast, unicast)
    ]
    assert repeats[0] > 0
    assert repeats[1] <= repeats[0] / 4


def test_the_bottleneck_is_used() -> None:
    world = World(4, size=None, rate_bps=5e6, limit_packets=32)
    world.network.run(20)
    for receiver in world.receivers:
        assert receiver.rate_bps(10, 20) > 0.85 * 5e6 * 1000 / 1072


def test_more_than_a_bitmap_is_in_flight() -> None:
    """714 packets of path; an answer's bitmap tells of 512."""
    world = World(1, size=None, rate_bps=10e6, limit_packets=1000, delays_s=(0.397,))
    world.network.run(12)
    flow = world.sender_core.flow
    assert flow.end - flow.base > 714
    assert world.receivers[0].rate_bps(11, 12) > 0.9 * 10e6


def test_all_receivers_together_answer_a_packet_about_once() -> None:
    """And a way back that is as narrow as the way there, with a queue shorter than they are many, holds nothing up."""
    world = World(16, size=None, rate_bps=5e6, limit_packets=12, delays_s=(0.01,))
    world.network.run(6)
    counters = world.sender_core.counters
    assert counters["feedback_packets"] < 3 * (counters["data_packets"] + counters["repair_packets"])
    assert all(receiver.rate_bps(3, 6) > 0.8 * 5e6 * 1000 / 1072 for receiver in world.receivers)


def test_a_way_back_with_room_for_few_answers_does_not_stop_small_windows() -> None:
    """47 answers at once would be lost but for four; then each packet takes timeouts, and 2 % of the link are used."""
    world = World(47, size=None, rate_bps=2.1e6, limit_packets=4, delays_s=(0.0045, 0.004, 0.0036))
    world.network.run(9)
    assert all(receiver.rate_bps(5, 9) > 0.7 * 2.1e6 for receiver in world.receivers)
    counters = world.sender_core.counters
    assert counters["timeouts"] < 47
    assert counters["feedback_packets"] < 6 * counters["data_packets"]
    # One packet more than the queue holds is lost, not what is sent until 47 have told of it.
    assert world.bottleneck.overflows < 0.2 * counters["data_packets"]


def test_half_of_all_answers_may_be_lost() -> None:
    """Each lost one taken for a lost packet leaves 3 % of the link, in as many forced cuts."""
    world = World(16, size=None, rate_bps=2e6, limit_packets=4, back_loss=0.5, parameters={"from_start": False}, wait=2)
    world.network.run(10)
    assert min(receiver.rate_bps(4, 10) for receiver in world.receivers) > 0.5 * 2e6
    assert world.sender_core.flow.listening.timeouts == 0


def test_who_comes_to_have_a_slow_link_is_heard_though_others_were_troubled_before() -> None:
    """Six receivers lose the same behind 1 Mbit/s; then one has 300 kbit/s. Heard as one of six it lost more than half
    of what was sent, for its signals cut seldom and CUBIC's window grew without bound meanwhile."""
    world = World(6, size=None, rate_bps=1e6, limit_packets=25, delays_s=(0.02,))
    slow = world.links[5][0]
    world.network.run(25)
    assert world.sender_core.flow.listening.troubled.count == 6
    slow.rate_bps, slow.limit_packets = 300e3, 25
    overflows, sent = slow.overflows, slow.sent
    world.network.run(50)
    overflows, sent = slow.overflows - overflows, slow.sent - sent
    assert overflows < 0.2 * (overflows + sent)
    assert world.receivers[5].rate_bps(30, 50) > 0.85 * 300e3


def test_a_path_that_has_become_shorter_is_used_before_a_signal_says_so() -> None:
    """Of many receivers' answers few let packets go, which leave in the longest round trip: kept from when one had a
    long queue, that was slow enough for nobody to lose anything, and so lasted."""
    world = World(12, size=None, rate_bps=1.5e6, limit_packets=60, delays_s=(0.05,))
    far = world.links[0][0]
    far.rate_bps, far.limit_packets = 200e3, 20
    world.network.run(15)
    far.rate_bps, far.limit_packets = 1e9, 1000
    world.network.run(25)
    assert world.receivers[1].rate_bps(20, 25) > 0.85 * 1.5e6


def test_what_all_lose_in_a_common_queue_cuts_once() -> None:
    """Who has told of packets that are kept no longer has not told of the lost one: taken for spared, one event of
    three did not cut."""
    world = World(8, size=None, rate_bps=1e6, limit_packets=1000, delays_s=(0.02,))
    chance = random.Random(5)
    world.bottleneck.lose = lambda datagram: len(datagram.data) > 500 and chance.random() < 0.015
    world.network.run(20)
    listening = world.sender_core.flow.listening
    cuts = listening.randomized_cuts + listening.forced_cuts
    assert cuts > 10
    assert listening.signals / 8 == pytest.approx(cuts, rel=0.15)


def test_a_receiver_that_dies_is_dropped_and_holds_nobody_up() -> None:
    world = World(3, size=2_000_000, parameters={"drop_after_s": 3})
    world.network.at(1.0, world.receivers[1].kill)
    world.network.run_until_ended(60)
    dropped = world.sender.events_of(PeerDropped)
    assert [event.peer for event in dropped] == [world.receivers[1].address]
    assert world.sender.end is not None
    assert not world.sender.end.complete
    for index in (0, 2):
        assert bytes(world.receivers[index].received) == world.data


def test_a_silent_receiver_stops_nobody_and_gets_all_when_it_is_back() -> None:
    """Its link is down for three seconds. The others have stood still for one of them at most."""
    world = World(3, size=None, rate_bps=3e6)
    lost, _ = world.links[1]
    world.network.run(3.0)
    lost.up = False
    before = len(world.receivers[0].received)
    world.network.run(4.5)
    stopped = len(world.receivers[0].received)
    assert stopped - before < 0.75 * 3e6 / 8 * 1.5
    world.network.run(6.0)
    assert len(world.receivers[0].received) - stopped > 0.6 * 3e6 / 8 * 1.5
    assert world.sender_core.counters["set_aside"] == 1
    lost.up = True
    world.network.run(12.0)
    missed = len(world.receivers[0].received) - len(world.receivers[1].received)
    assert missed < 60_000
    assert not world.sender_core.flow.is_aside(next(iter(world.sender_core.flow.branches.values())))
    assert world.sender.events_of(PeerDropped) == []


def test_who_is_silent_when_no_more_is_kept_is_dropped_and_stops_nobody() -> None:
    world = World(2, size=None, parameters={"kept_bytes": 500_000})
    world.network.run(1.0)
    world.links[1][0].up = False
    received = []
    for step in range(20):
        world.network.run(1.0 + 0.5 * step)
        received.append(len(world.receivers[0].received))
    (dropped,) = world.sender.events_of(PeerDropped)
    assert dropped.peer == world.receivers[1].address
    assert dropped.reason == "silent, and 0.477 MiB behind"
    # It is silent for a second before it is set aside; from when no more is kept until it is looked at, half a second.
    assert all(later > now for now, later in zip(received[4:], received[6:], strict=False))


def test_who_has_answered_lately_is_waited_for_when_no_more_is_kept() -> None:
    world = World(2, size=None, parameters={"kept_bytes": 500_000})
    world.network.run(1.0)
    world.links[1][0].up = False
    core, flow = world.sender_core, world.sender_core.flow
    while core.limit != "kept":
        world.network.run(world.network.now + 0.02)
    (branch,) = [branch for branch in flow.branches.values() if flow.is_aside(branch)]
    now = world.sender.now
    assert flow.behind_of(branch, now) is not None
    branch.answered_at = now - 0.9
    assert flow.behind_of(branch, now) is None
    branch.answered_at, branch.rtt.mean = now - 1.1, 0.4
    assert flow.behind_of(branch, now) is None


def test_by_the_papers_rules_what_is_kept_for_a_silent_receiver_is_bounded() -> None:
    world = World(2, size=None, parameters={"kept_bytes": 500_000, "rules": "paper"})
    world.network.run(1.0)
    world.links[1][0].up = False
    world.network.run(10.0)
    core = world.sender_core
    assert core.limit == "kept"
    behind = core.flow.end_offset - len(world.receivers[1].received)
    assert 400_000 < behind < 500_000 + 2000
    world.links[1][0].up = True
    world.network.run(16.0)
    assert core.limit != "kept"
    assert len(world.receivers[1].received) > core.flow.end_offset - 300_000


def test_when_all_are_silent_nobody_is_set_aside() -> None:
    world = World(2, size=None)
    world.network.run(1.0)
    world.bottleneck.up = False
    world.network.run(4.0)
    sent = world.sender_core.flow.end
    world.network.run(8.0)
    assert world.sender_core.counters["set_aside"] == 0
    assert world.sender_core.flow.end == sent
    world.bottleneck.up = True
    world.network.run(12.0)
    assert world.sender_core.flow.end > sent + 100


def test_a_receiver_that_leaves_is_not_waited_for() -> None:
    world = World(3, size=1_000_000)
    leaver = world.receivers[2]
    world.network.at(0.5, lambda: leaver.apply(leaver.endpoint.close(now=leaver.now, reason="gone")))
    world.network.run_until_ended(30)
    assert bytes(world.receivers[0].received) == world.data
    assert [event.complete for event in world.sender.events_of(PeerFinished)].count(False) == 1


def test_a_slow_application_slows_the_sender_and_loses_nothing() -> None:
    world = World(2, size=400_000, parameters={"buffer_bytes": 20_000})
    world.receivers[1].consume_bps = 1e6
    world.network.run_until_ended(60)
    check_complete(world)
    assert world.network.now == pytest.approx(3.2, abs=1.0)
    assert world.bottleneck.overflows == 0


def test_who_comes_late_is_refused_a_file() -> None:
    world = World(2, size=3_000_000)
    world.network.link("edge", "late", rate_bps=1e9, delay_s=0.001)
    late = world.add_receiver("late")
    del world.network.hosts["late"]
    world.network.run(1.0)
    world.network.hosts["late"] = late
    late.start()
    world.network.run_until_ended(60)
    assert len(world.sender.events_of(PeerRefused)) >= 1
    assert late.end is not None
    assert "already started" in late.end.reason
    assert bytes(world.receivers[0].received) == world.data


def test_the_slowest_by_far_is_dropped_when_that_is_wanted() -> None:
    parameters = {"drop_slowest": 4, "drop_slowest_after_s": 5}
    world = World(3, size=None, parameters=parameters, losses={0: 0.001, 1: 0.001, 2: 0.2})
    world.network.run(15)
    assert [event.peer for event in world.sender.events_of(PeerDropped)] == [world.receivers[2].address]


def test_forged_feedback_is_counted_and_changes_nothing() -> None:
    world = World(2)
    world.network.run(0.3)
    core, sender = world.sender_core, world.sender
    stranger = Address("10.9.9.9", 1)
    before = core.flow.base
    for source in (stranger, world.receivers[0].address):
        for ack in (
            Ack(core.number, False, False, False, 2**31 - 1, 0, 0, 0, 0, 0),
            Ack(core.number, True, False, False, core.flow.end + 5, 0, 0, 0, 3, 1),
            Ack(core.number, False, False, False, core.flow.end, 0, 0, 0, 0, 1 << 500),
            Ack(core.number + 1, False, False, False, 0, 0, 0, 0, 0, 0),
        ):
            sender.apply(core.receive(Datagram(packets.encode_ack(ack), source, sender.address), now=sender.now))
    assert core.flow.base == before
    assert core.counters["drop_stranger"] >= 3
    assert core.counters["drop_beyond"] + core.counters["drop_unexpected"] + core.counters["drop_other_session"] >= 4
    world.network.run_until_ended(60)
    check_complete(world)


def test_nobody_comes() -> None:
    world = World(0, wanted=1, wait=1.0)
    world.network.run_until_ended(10)
    assert world.sender.end is not None
    assert "no receiver joined" in world.sender.end.reason


def test_the_same_seed_gives_the_same_run() -> None:
    runs = []
    for _ in range(2):
        world = World(3, seed=9, loss=0.02)
        world.network.run_until_ended(60)
        runs.append((world.network.now, dict(world.sender_core.counters), world.sender_core.flow.listening.signals))
    assert runs[0] == runs[1]


def test_a_receiver_in_a_hurry_is_served_before_the_others_were_heard() -> None:
    """One receiver answers so late that repairs wait for it; another one cannot wait for as long as that."""
    waiting = []
    for hurry_after_s in (0.0, 0.05):
        parameters = {"hurry_after_s": hurry_after_s, "rexmit_thresh": 100}
        world = World(2, seed=5, size=400_000, delays_s=(0.002, 0.3), losses={0: 0.03}, parameters=parameters)
        near = world.receivers[0].endpoint
        assert isinstance(near, RlaReceiver)
        blocked = 0
        while world.sender.end is None:
            world.network.run(world.network.now + 0.02)
            blocked += bool(near.stream.early_packets)
        world.network.run_until_ended(world.network.now + 5)
        check_complete(world)
        waiting.append(blocked)
    assert waiting[1] < waiting[0] / 2, waiting


@pytest.mark.parametrize("loss", [0.0, 0.02])
def test_who_comes_late_takes_a_stream_from_where_it_is(loss: float) -> None:
    """Joins, and so numbering, in the middle: all that is delivered is a piece of the stream, to its very end."""
    world = World(2, seed=4, size=3_000_000, loss=loss)
    world.network.link("edge", "late", rate_bps=1e9, delay_s=0.004, loss=loss)
    late = world.add_receiver("late", parameters={"from_start": False})
    del world.network.hosts["late"]
    world.network.run(1.0)
    before = world.sender_core.flow.base_offset
    world.network.hosts["late"] = late
    late.first_offset = None
    late.start()
    world.network.run_until_ended(120)
    assert world.sender.end is not None
    assert world.sender.end.complete
    assert before > 0
    assert 0 < len(late.received) <= len(world.data) - before
    assert world.data.endswith(bytes(late.received))
    assert [bytes(receiver.received) for receiver in world.receivers[:2]] == [world.data] * 2
    assert len(world.sender.events_of(PeerJoined)) == 3
