"""Agents that are there and pass nothing on: their children leave them within seconds, and nobody waits for ever."""

from collections.abc import Sequence
from random import Random

import pytest

from hosts.endpoint import Datagram, DatagramRun, Effect, PeerDropped, Send
from hosts.protocols.mtcp.packets import Feedback, Repair, parse
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.roster import WHOLE
from hosts.protocols.mtcp.tree_packets import Report, ReportAck
from hosts.wire.farewell import Fin
from tests.hosts.protocols.mtcp.world import World

SWALLOWED = {
    "everything": (Repair, Feedback, Report, ReportAck, Fin),
    "but its own acknowledgments": (Repair, Report, ReportAck, Fin),
    "acknowledgments and repairs": (Repair, Feedback),
}
SECONDS_S = 20.0
"""In which children notice, and have the file: 5 s until a sender begins that has not heard of all, `parent_timeout_s`,
and 2 s for a file of which each may lack another part."""


class Swallower(MtcpReceiver):
    """It answers probes, joins and queries."""

    swallowed: tuple[type, ...] = ()

    def _kept(self, effects: Sequence[Effect]) -> list[Effect]:
        return [one for one in effects if not isinstance(one, Send) or not isinstance(parse(one.data), self.swallowed)]

    def receive(self, datagram: Datagram, *, now: float) -> list[Effect]:
        return self._kept(super().receive(datagram, now=now))

    def receive_run(self, run: DatagramRun, *, now: float) -> list[Effect]:
        return [effect for number in range(run.packets) for effect in self.receive(run.datagram(number), now=now)]

    def handle_timer(self, *, now: float) -> list[Effect]:
        return self._kept(super().handle_timer(now=now))


def make(swallowed: str, loss: float, children: Sequence[int], *, chain: bool = False) -> World:
    """r0 swallows; the others lose so much, and `children` are its, in a `chain` each the child of the one before."""
    parents = {child: child - 1 if chain else 0 for child in children}
    losses = dict.fromkeys(range(1, 4), loss)
    world = World(4, size=600_000, rate_bps=2.5e6, parents=parents, losses=losses)
    honest = world.core(0)
    liar = Swallower(honest.session, honest.options, Random(1))
    liar.swallowed = SWALLOWED[swallowed]
    liar.place(world.receivers[0].address)
    world.receivers[0].endpoint = liar
    return world


@pytest.mark.parametrize("children", [(1, 2), (1, 2, 3)], ids=["and the sender has others", "and no others"])
@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("swallowed", SWALLOWED)
def test_its_children_have_the_file_within_seconds(swallowed: str, loss: float, children: Sequence[int]) -> None:
    world = make(swallowed, loss, children)
    world.network.run(SECONDS_S)
    for index in (1, 2, 3):
        assert world.receivers[index].received == world.data, index
    world.finish(90)
    dropped = {event.peer for event in world.sender.events_of(PeerDropped)}
    assert dropped <= {world.receivers[0].address}
    assert world.sender.end is not None
    known = world.sender_core.roster.members
    assert all(known[world.receivers[index].address].state in WHOLE for index in (1, 2, 3)), "the sender knows"


@pytest.mark.parametrize("swallowed", SWALLOWED)
def test_agents_below_it_end_with_the_file_as_well(swallowed: str) -> None:
    world = make(swallowed, 0.0, (1, 2, 3), chain=True)
    world.finish(90)
    for index in (1, 2, 3):
        host = world.receivers[index]
        assert host.end is not None
        assert host.end.complete, (index, host.end.reason)
        assert world.sender_core.roster.members[host.address].state in WHOLE, index


def test_who_left_it_does_not_choose_it_again() -> None:
    world = make("everything", 0.1, (1, 2, 3))
    world.network.run(SECONDS_S)
    liar = world.receivers[0].address
    for index in (1, 2, 3):
        core = world.core(index)
        assert core.counters["parents_left"] == 1
        assert core.attachment.parent == world.sender.address
        assert liar in core.attachment.avoided


def test_a_pause_of_the_application_is_no_reason_to_leave_a_parent() -> None:
    world = World(3, size=200_000, parents={1: 0, 2: 0}, losses={1: 0.02})
    sender, whole = world.sender, world.sender.source
    sender.source = whole[:100_000]
    finish, sender.endpoint.finish = sender.endpoint.finish, lambda *, now: ()  # type: ignore[attr-defined]
    world.network.run(40.0)
    assert [len(world.receivers[index].received) for index in (1, 2)] == [99_400, 99_400], "whole packets only"
    sender.source, sender.endpoint.finish = whole, finish  # type: ignore[attr-defined]
    world.network.at(40.0, sender.apply, ())
    world.finish()
    world.assert_all_have_it()
    assert [world.core(index).counters["parents_left"] for index in (1, 2)] == [0, 0]


@pytest.mark.parametrize("parents", [{1: 0}, {}], ids=["below an agent", "below the sender"])
def test_an_application_that_reads_slowly_is_waited_for(parents: dict[int, int]) -> None:
    """Three times as long as one may say nothing of what it has."""
    world = World(3, size=600_000, rate_bps=2.5e6, parents=parents)
    host = world.receivers[1]
    host.consume_bps = len(world.data) * 8 / 95
    confirm = world.core(1).confirm
    world.core(1).confirm = lambda **_: ()  # type: ignore[method-assign]

    def has_read() -> None:
        host.apply(confirm(complete=True, now=host.now))

    world.network.at(100.0, has_read)
    world.finish(120)
    world.assert_all_have_it()
