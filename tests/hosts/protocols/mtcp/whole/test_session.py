"""Whole sessions in virtual time: the bytes are exact, whatever the network does to the packets."""

import pytest

from hosts.endpoint import (
    CongestionSignal,
    Datagram,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    SessionStarted,
)
from hosts.parts.doubt import SILENCE_S
from hosts.protocols.mtcp.packets import DATA_BYTES
from hosts.protocols.mtcp.wire import Type
from tests.hosts.host import Clock
from tests.hosts.protocols.mtcp.world import World


def test_a_clean_network() -> None:
    world = World(3)
    world.finish()
    world.assert_all_have_it()
    counters = world.sender_core.counters
    assert counters["repair_packets"] == 0
    assert counters["data_packets"] == 72
    assert not [name for name in counters if name.startswith("drop_") and name != "drop_late"]
    assert len(world.sender.events_of(PeerJoined)) == len(world.sender.events_of(PeerFinished)) == 3
    assert world.sender.events_of(CongestionSignal) == []


@pytest.mark.parametrize("size", [0, 1, 1399, 1400, 1401, 2800, 70_001])
def test_any_size(size: int) -> None:
    world = World(2, size=size)
    world.finish()
    world.assert_all_have_it()


@pytest.mark.parametrize("seed", range(25))
def test_loss_duplication_and_reordering_everywhere(seed: int) -> None:
    """5-25 % loss both ways, duplicates, and packets that overtake each other by up to 10 ms."""
    loss = 0.05 + 0.05 * (seed % 5)
    world = World(
        3,
        seed=seed,
        size=60_000,
        losses={0: loss, 1: loss / 2, 2: 0.01},
        back_loss=loss,
        duplicate=0.1,
        jitter_s=0.01,
        parameters={"drop_after_s": 120, "silence_s": 120},
    )
    world.finish(600)
    world.assert_all_have_it()


def test_the_last_packet_is_lost() -> None:
    """Nothing follows it that could show the gap: the timer repairs it."""
    world = World(2, size=50_000)
    last = 50_000 // 1400
    dropped = []

    def lose(datagram: Datagram) -> bool:
        hit = datagram.data[2] == Type.DATA and int.from_bytes(datagram.data[8:12], "big") == last
        if hit:
            dropped.append(datagram)
        return hit

    world.links[0][0].lose = lose
    world.finish()
    world.assert_all_have_it()
    assert len(dropped) == 1
    assert world.sender_core.counters["repair_packets"] == 1


def test_sequence_numbers_wrap() -> None:
    world = World(2, size=100_000, losses={0: 0.05}, first=2**32 - 30)
    world.finish()
    world.assert_all_have_it()
    assert world.sender_core.agent.end > 2**32


def test_every_datagram_fits_an_ethernet_frame() -> None:
    world = World(2, size=30_000, losses={0: 0.1}, parameters={"payload_bytes": 1432})
    sizes: list[int] = []
    world.network.tap = lambda node, datagram: sizes.append(len(datagram.data))
    world.finish()
    world.assert_all_have_it()
    assert max(sizes) + 28 <= 1500
    assert max(sizes) > 1432 + DATA_BYTES - 1


def test_clock_offsets_change_nothing() -> None:
    """Bit for bit the same run, with clocks days apart."""
    runs = []
    for offset in (0.0, 1e5):
        clocks = {"sender": Clock(3 * offset), "r0": Clock(offset), "r1": Clock(2 * offset)}
        world = World(2, size=300_000, losses={1: 0.02}, clocks=clocks)
        world.finish()
        world.assert_all_have_it()
        runs.append((world.sender_core.counters, [round(time, 4) for time, _ in world.receivers[0].progress]))
    assert runs[0] == runs[1]


def test_clock_drift() -> None:
    """100 ppm between sender and receivers either way: nothing suffers."""
    clocks = {"sender": Clock(50.0, 100e-6), "r0": Clock(1e4, -100e-6), "r1": Clock(7.0, 100e-6)}
    world = World(2, size=None, clocks=clocks)
    world.network.run(12)
    assert world.share(4, 12) > 0.97


# --- who takes part


def test_the_start_waits_for_all_receivers() -> None:
    world = World(3)
    late = world.receivers[2]
    late.start, start = lambda: None, late.start  # type: ignore[method-assign]
    world.network.at(2.0, start)
    world.finish()
    world.assert_all_have_it()
    (started,) = [time for time, event in world.sender.events if isinstance(event, SessionStarted)]
    assert 2.0 < started < 2.5


def test_after_the_wait_it_starts_with_those_that_joined() -> None:
    world = World(2, wanted=3, wait=3.0)
    world.finish()
    world.assert_all_have_it()
    (started,) = [time for time, event in world.sender.events if isinstance(event, SessionStarted)]
    assert started == pytest.approx(3.0, abs=0.01)


def test_nobody_joins() -> None:
    world = World(0, wanted=1, wait=2.0)
    world.finish()
    assert world.sender.end is not None
    assert not world.sender.end.complete
    assert world.sender.end.reason == "no receiver joined within 2 s"
    assert 2.0 <= world.network.now < 2.5


def test_who_comes_late_is_told_so() -> None:
    world = World(2, size=500_000)
    world.network.link("edge", "late")
    late = world.add_receiver("late")
    late.start, start = lambda: None, late.start  # type: ignore[method-assign]
    world.network.at(0.8, start)  # all have acknowledged more than what is kept for who was meant
    world.finish()
    assert late.end is not None
    assert not late.end.complete
    assert late.end.reason == "refused: the session has already started"
    assert world.sender.end is not None
    assert world.sender.end.complete
    assert len(world.sender.events_of(PeerRefused)) == 1
    assert world.receivers[0].received == world.data


def test_more_receivers_than_it_takes() -> None:
    world = World(3, wanted=3, wait=1.0, parameters={"fan_out": 2, "parent": "sender"})
    world.finish()
    refused = [host for host in world.receivers if host.end is not None and not host.end.complete]
    assert len(refused) == 1
    assert refused[0].end is not None
    assert "as many receivers as it takes" in refused[0].end.reason


# --- those that fail


def test_a_killed_receiver_is_dropped_and_reported() -> None:
    world = World(3, size=5_000_000, parameters={"drop_after_s": 4})
    world.network.at(3.0, world.receivers[1].kill)
    world.finish()
    (dropped,) = world.sender.events_of(PeerDropped)
    assert dropped == PeerDropped(world.receivers[1].address, "silent for too long")
    assert world.sender.end is not None
    assert not world.sender.end.complete
    assert str(world.receivers[1].address) in world.sender.end.reason
    assert world.receivers[0].received == world.receivers[2].received == world.data
    (when,) = [time for time, event in world.sender.events if isinstance(event, PeerDropped)]
    assert when < 3.0 + 4 + 2.5  # silence is judged with the probes, every two seconds


def test_all_receivers_are_killed() -> None:
    world = World(2, size=2_000_000, parameters={"drop_after_s": 3})
    for host in world.receivers:
        world.network.at(1.0, host.kill)
    world.finish()
    assert world.sender.end is not None
    assert world.sender.end.reason.startswith("no receiver is left (")


def test_the_sender_is_killed() -> None:
    world = World(2, size=2_000_000, parameters={"silence_s": 5})
    world.network.at(1.0, world.sender.kill)
    world.finish()
    for host in world.receivers:
        assert host.end is not None
        assert host.end.reason == "the sender was silent for 5 s"


def test_a_receiver_that_cannot_use_what_it_got() -> None:
    world = World(3)
    world.receivers[0].confirm_complete = False
    world.finish()
    assert world.sender.end is not None
    assert not world.sender.end.complete
    verdicts = {event.peer: event.complete for event in world.sender.events_of(PeerFinished)}
    assert [verdicts[host.address] for host in world.receivers] == [False, True, True]


def test_an_interrupted_sender_tells_all() -> None:
    world = World(2, size=2_000_000)
    world.network.at(1.0, lambda: world.sender.apply(world.sender_core.close(now=world.sender.now, reason="stop")))
    world.finish()
    assert world.network.now < 1.5 + SILENCE_S
    for host in world.receivers:
        assert host.end is not None
        assert host.end.reason == "the sender ended the session: interrupted"


def test_an_interrupted_receiver_leaves_and_the_others_go_on() -> None:
    world = World(2, size=1_000_000)
    quitter = world.receivers[0]
    world.network.at(0.8, lambda: quitter.apply(quitter.endpoint.close(now=quitter.now, reason="interrupted")))
    world.finish()
    assert world.receivers[1].received == world.data
    finished = {event.peer: event for event in world.sender.events_of(PeerFinished)}
    assert finished[quitter.address] == PeerFinished(quitter.address, False, "interrupted")
    assert world.sender.end is not None
    assert not world.sender.end.complete


def test_a_link_that_fails_for_a_while() -> None:
    world = World(2, size=3_000_000)

    def switch(up: bool) -> None:
        for link in world.links[0]:
            link.up = up

    world.network.at(1.0, switch, False)
    world.network.at(6.0, switch, True)
    world.finish()
    world.assert_all_have_it()
    assert world.sender_core.counters["set_aside"] == 1


def test_confirmations_that_are_lost_are_repeated() -> None:
    world = World(2, size=20_000)
    lost: list[Datagram] = []

    def lose(datagram: Datagram) -> bool:
        if datagram.data[2] in (Type.FIN, Type.FIN_ACK) and len(lost) < 3:
            lost.append(datagram)
            return True
        return False

    for there, back in world.links:
        there.lose = back.lose = lose
    world.finish()
    world.assert_all_have_it()
    assert len(lost) == 3
