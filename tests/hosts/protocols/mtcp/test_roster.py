"""Who is where: later joins count, whatever the order of the reports, and nothing takes the whole stream away again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, Send
from hosts.protocols.mtcp.packets import parse
from hosts.protocols.mtcp.roster import WHOLE, Roster
from hosts.protocols.mtcp.tree_packets import MAX_ENTRIES, Entry, Report, State
from hosts.wire.reason import Reason

PARENT = Address("10.0.0.1", 1)


def member(number: int, parent: int = 0, epoch: int = 1, state: State = State.ACTIVE) -> Entry:
    """A member; parent 0 is the sender."""
    return Entry(
        Address("10.0.0.2", number), Address("10.0.0.2", parent), epoch, state, Reason.NONE, agent=False, spare=True
    )


STATES = st.sampled_from([State.ACTIVE, State.LEFT, State.LOST])


@given(st.lists(st.tuples(st.integers(1, 5), STATES), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_latest_join_s_last_state_counts(said: list[tuple[int, State]], rng: object) -> None:
    """Reports take different ways up the tree, and arrive in any order, and repeatedly."""
    entries = [member(1, epoch=epoch, state=state) for epoch, state in said]
    latest = max(epoch for epoch, _ in said)
    expected = (latest, max(state for epoch, state in said if epoch == latest))
    rng.shuffle(entries)  # type: ignore[attr-defined]
    roster = Roster()
    for entry in entries + entries:
        roster.note(entry)
    known = roster.members[entries[0].address]
    assert (known.epoch, known.state) == expected


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from(State)), max_size=12))
def test_who_has_everything_keeps_it(said: list[tuple[int, State]]) -> None:
    roster = Roster()
    roster.note(member(1, epoch=3, state=State.COMPLETE))
    for epoch, state in said:
        roster.note(member(1, epoch=epoch, state=state))
        assert roster.members[Address("10.0.0.2", 1)].state in WHOLE


def test_join_numbers_wrap() -> None:
    roster = Roster()
    assert roster.note(member(1, epoch=65_535)) is not None
    assert roster.note(member(1, epoch=2)) is not None
    assert roster.note(member(1, epoch=65_535, state=State.LOST)) is None


def test_below() -> None:
    """1 and 2 at the sender, 3 below 1, 4 and 5 below 3; a loop of 8 and 9 harms nobody."""
    roster = Roster()
    for number, parent in ((1, 0), (2, 0), (3, 1), (4, 3), (5, 3), (8, 9), (9, 8)):
        roster.note(member(number, parent))
    assert [entry.address.port for entry in roster.below(Address("10.0.0.2", 1))] == [3, 4, 5]
    assert [entry.address.port for entry in roster.below(Address("10.0.0.2", 8))] == [9]
    assert roster.below(Address("10.0.0.2", 5)) == []


def reported(roster: Roster, now: float) -> Report | None:
    """What is sent to the parent now."""
    effects = roster.report(7, PARENT, now, 0.25)
    if not effects:
        return None
    (send,) = effects
    assert isinstance(send, Send)
    packet = parse(send.data)
    assert isinstance(packet, Report)
    return packet


def test_reports_are_repeated_until_they_are_acknowledged() -> None:
    roster = Roster()
    assert roster.is_told
    for number in range(1, MAX_ENTRIES + 11):
        roster.note(member(number))
    first = reported(roster, 1.0)
    assert first is not None
    assert len(first.entries) == MAX_ENTRIES
    assert reported(roster, 1.1) is None
    assert roster.repeat_at == 1.25
    roster.note(member(1, state=State.COMPLETE))  # does not change what was sent
    assert reported(roster, 1.25) == first
    roster.acknowledged(99)
    assert reported(roster, 1.6) == first
    assert roster.unanswered_s(1.6) == pytest.approx(0.6)
    roster.acknowledged(first.number)
    assert roster.unanswered_s(1.6) == 0.0
    second = reported(roster, 1.6)
    assert second is not None
    assert {entry.address.port for entry in second.entries} == {1, *range(MAX_ENTRIES + 1, MAX_ENTRIES + 11)}
    roster.acknowledged(second.number)
    assert roster.is_told
    roster.tell_all()
    assert reported(roster, 2.0) is not None
