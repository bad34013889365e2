"""Who takes part in the session: what the application is told, and who must turn up elsewhere."""

import random

import pytest

from hosts.endpoint import Address, PeerDropped, PeerFinished, PeerJoined, PeerRefused, Send
from hosts.protocols.mtcp import membership
from hosts.protocols.mtcp.membership import Membership
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.roster import Roster
from hosts.protocols.mtcp.tree_packets import Entry, State
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent

OPTIONS = MtcpOptions(parent_timeout_s=4.0, fan_out=2, buffer_bytes=8000)
SENDER = Address("10.0.0.9", 9)
BELOW = Address("10.0.0.3", 1)


class Session:
    """A sender's membership, its agent and roster."""

    def __init__(self) -> None:
        self.agent = make_agent(OPTIONS, own_clock=True)
        self.roster = Roster()
        self.membership = Membership(7, OPTIONS, self.agent, self.roster, random.Random(1))

    def note(
        self,
        address: Address,
        state: State = State.ACTIVE,
        *,
        parent: Address = SENDER,
        epoch: int = 1,
        now: float = 0.0,
        agent: bool = False,
    ) -> list[object]:
        """Somebody tells of a member; what the application is told."""
        news = self.roster.note(Entry(address, parent, epoch, state, Reason.NONE, agent, True))
        return [] if news is None else list(self.membership.changed(news, now))


def orphaned() -> Session:
    """An agent below the sender is lost at 10 s, and with it the one below it for now."""
    session = Session()
    child = session.agent.add_child(ONE, 5000, now=0.0)
    child.agent = True
    session.agent.add_child(TWO, 9000, now=0.0)
    session.note(ONE, agent=True)
    session.note(BELOW, parent=ONE)
    session.membership.abandoned(child)
    session.agent.remove_child(ONE, 10.0)
    assert session.note(ONE, State.LOST, now=10.0, agent=True) == [PeerDropped(ONE, Reason.NONE.text)]
    return session


def test_the_application_is_told_once() -> None:
    session = Session()
    session.agent.has_end = True
    assert session.note(ONE) == [PeerJoined(ONE)]
    assert session.note(ONE, epoch=2) == []
    assert session.note(ONE, State.COMPLETE, epoch=2) == [PeerFinished(ONE, True)]
    assert session.note(ONE, State.LOST, epoch=2) == []
    assert session.note(TWO, State.LEFT) == [PeerJoined(TWO), PeerFinished(TWO, False, Reason.NONE.text)]
    assert session.membership.active == set()


def test_nobody_has_the_whole_of_a_stream_whose_end_was_not_sent() -> None:
    session = Session()
    (joined, finished) = session.note(ONE, State.COMPLETE)
    assert (joined, finished) == (PeerJoined(ONE), PeerFinished(ONE, False, Reason.BROKEN_STREAM.text))


def test_what_an_orphan_may_need_is_kept_until_it_turns_up() -> None:
    session = orphaned()
    assert session.agent.advertised.end == OPTIONS.buffer_bytes
    session.note(BELOW, epoch=2, now=12.0)
    assert session.agent.advertised.end == 9000  # the other child's
    assert session.membership.give_up_orphans(100.0) == []


def test_an_orphan_is_taken_in_the_second_half_of_its_time_and_lost_after_it() -> None:
    session = orphaned()
    assert not session.membership.owes(BELOW, 13.9)
    assert session.membership.owes(BELOW, 14.0)
    assert session.membership.give_up_orphans(17.9) == []
    assert session.membership.give_up_orphans(18.0) == [PeerDropped(BELOW, Reason.SILENT.text)]
    assert not session.membership.owes(BELOW, 18.0)
    assert session.membership.active == set()


def test_agents_with_room_are_named_and_spare_ones_when_there_is_no_other_place() -> None:
    session = Session()
    session.note(ONE, agent=True)
    session.note(TWO)
    assert session.membership.candidates(0.0) == (ONE,)
    for address in (ONE, TWO):
        session.agent.add_child(address, 5000, now=0.0)
    assert session.membership.candidates(0.0) == (ONE, TWO)
    for port in (2, 3):
        session.note(Address("10.0.0.3", port), parent=ONE)
    assert ONE not in session.membership.candidates(0.0)  # its places are taken
    assert len(session.membership.candidates(0.0)) <= membership.CANDIDATES


def test_where_many_have_room_all_members_are_gone_through_now_and_then_only(monkeypatch: pytest.MonkeyPatch) -> None:
    session, looks, look = Session(), [0], Membership._with_room

    def counted(self: Membership) -> tuple[list[Address], list[Address]]:
        looks[0] += 1
        return look(self)

    monkeypatch.setattr(Membership, "_with_room", counted)
    for port in range(2 * membership.CANDIDATES):
        session.note(Address("10.0.0.3", port), agent=True)
    named = [session.membership.candidates(0.0009 * step) for step in range(100)]
    assert looks == [1]
    assert {len(places) for places in named} == {membership.CANDIDATES}
    assert len(set(named)) > 90, "other ones each time"
    session.membership.candidates(membership.LOOK_S)
    assert looks == [2]
    few = Session()
    assert few.membership.candidates(0.0) == ()
    few.note(ONE, agent=True)
    assert few.membership.candidates(0.0) == (ONE,), "one of few is named as soon as it is there"


def test_a_refusal_is_final_only_when_there_is_no_other_place() -> None:
    session = Session()
    assert session.membership.refused(TWO, Reason.FULL, 0.0) == [PeerRefused(TWO, Reason.FULL.text)]
    session.note(ONE, agent=True)
    assert session.membership.refused(TWO, Reason.FULL, 0.0) == []
    assert session.membership.refused(TWO, Reason.STARTED, 0.0) == [PeerRefused(TWO, Reason.STARTED.text)]


def test_an_agents_own_children_are_called_and_not_for_ever() -> None:
    session = Session()
    child = session.agent.add_child(ONE, 5000, now=0.0)
    assert session.membership.take_over(child) == []  # nobody is below
    session.note(ONE, agent=True)
    session.note(TWO, parent=ONE, agent=True)
    session.note(BELOW, parent=TWO)
    session.membership.address = SENDER
    for _ in range(membership.TAKE_OVER_TRIES):
        called = session.membership.take_over(child)
        assert [effect.destination for effect in called if isinstance(effect, Send)] == [TWO]
    assert session.membership.take_over(child) == []
