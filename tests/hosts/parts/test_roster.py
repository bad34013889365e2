from collections import Counter

import pytest

from hosts.endpoint import Address, PeerDropped, PeerFinished, SessionEnded
from hosts.parts import roster as module
from hosts.parts.roster import Member, Roster
from hosts.parts.silence import PROVEN_TIMES, SILENT_S, UNPROVEN_S
from hosts.wire.reason import Reason

ONE, TWO = Address("10.0.0.1", 4000), Address("10.0.0.2", 4000)


def with_members(*addresses: Address) -> Roster:
    roster = Roster(Counter())
    for number, address in enumerate(addresses, 1):
        roster.members[number] = Member(address, 10.0, 10.0, 0.1)
    return roster


def tell(member: Member, until: float) -> None:
    """Often enough to have shown that it is there; the last time then."""
    for times in reversed(range(PROVEN_TIMES)):
        member.heard(until - times * SILENT_S)
        member.says(times, until - times * SILENT_S)


def test_admission() -> None:
    roster = with_members(ONE)
    assert roster.admission(2, TWO, begun=False) is Reason.NONE
    assert roster.admission(2, TWO, begun=True) is Reason.STARTED
    assert roster.admission(1, ONE, begun=True) is Reason.NONE
    assert roster.admission(1, TWO, begun=False) is None
    roster.remove(1, "left", Reason.INTERRUPTED, 0)
    assert roster.admission(5, ONE, begun=False) is Reason.STARTED


def test_there_is_an_end_to_how_many_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RECEIVERS", 1)
    assert with_members(ONE).admission(2, TWO, begun=False) is Reason.FULL


def test_who_is_no_member_is_counted() -> None:
    roster = with_members(ONE)
    assert roster.member(1, ONE) is roster.members[1]
    assert roster.member(1, TWO) is None
    roster.member(2, TWO)
    assert roster._counters == {"drop_forged": 1, "drop_stranger": 1}


def test_who_is_silent_or_stalled_is_overdue() -> None:
    roster = with_members(ONE, TWO)
    tell(roster.members[1], 19.0)
    tell(roster.members[2], 11.0)
    assert roster.overdue(3, 5.0, 20.0) == [(1, Reason.STALLED), (2, Reason.SILENT)]
    assert roster.overdue(3, 5.0, 20.0, turn_s=10.0) == []
    assert roster.overdue(0, 15.0, 20.0) == []


def test_who_has_said_nothing_has_less_time_when_it_is_waited_for() -> None:
    roster = with_members(ONE, TWO)
    tell(roster.members[1], 10.0)
    roster.members[2].heard(10.0)
    late = 10.1 + UNPROVEN_S
    assert roster.overdue(3, 30.0, late) == []
    assert roster.overdue(3, 30.0, late, waits=True) == [(2, Reason.UNPROVEN)]
    assert roster.overdue(3, 30.0, late, waits=True, turn_s=10.0) == []
    assert roster.overdue(3, 5.0, 15.1, waits=True) == [(1, Reason.SILENT), (2, Reason.UNPROVEN)]


def test_the_same_said_again_shows_nothing() -> None:
    roster = with_members(ONE, TWO)
    for at in range(11, 21):
        for number, member in roster.members.items():
            member.heard(float(at))
            member.says(at if number == 1 else "the same", float(at))
    assert roster.members[1].presence.is_proven
    assert not roster.members[2].presence.is_proven
    assert roster.overdue(3, 30.0, 11.1 + UNPROVEN_S, waits=True) == [], "all may wait for one another"
    roster.remove(1, "complete", Reason.NONE, 3)
    assert roster.overdue(3, 30.0, 11.1 + UNPROVEN_S, waits=True) == [(2, Reason.UNPROVEN)]


def test_who_had_nothing_to_get_on_with_has_not_stalled_and_who_has_all_must_say_so() -> None:
    roster = with_members(ONE)
    for at in range(11, 31):
        roster.members[1].heard(float(at))
        roster.members[1].says(at, float(at))
        assert roster.overdue(0, 5.0, float(at)) == []
    assert roster.overdue(1, 5.0, 30.5) == [], "a block has just been sent"
    roster.members[1].delivered = 1
    assert roster.overdue(1, 5.0, 31.0) == []
    roster.members[1].heard(37.0)
    assert roster.overdue(1, 5.0, 37.0, ended=True) == [(1, Reason.STALLED)]


def test_who_has_said_nothing_fails_a_session_only_when_somebody_is_missing() -> None:
    roster = with_members(ONE, TWO)
    roster.remove(2, "lost", Reason.UNPROVEN, 7)
    assert not roster.is_over
    roster.remove(1, "complete", Reason.NONE, 7)
    assert roster.is_over
    assert roster.end(1, all_sent=True) == SessionEnded(
        True, f"{TWO}: silent for too long, and had acknowledged nothing or hardly anything"
    )
    assert not roster.end(2, all_sent=True).complete


def test_the_end_names_whom_it_failed() -> None:
    roster = with_members(ONE, TWO)
    assert roster.remove(1, "complete", Reason.NONE, 7) == PeerFinished(ONE, True, "")
    assert roster.end(2, all_sent=True) == SessionEnded(True, "")
    assert roster.remove(2, "lost", Reason.SILENT, 7) == PeerDropped(TWO, "silent for too long")
    assert roster.end(2, all_sent=True) == SessionEnded(False, f"{TWO}: silent for too long")
    assert not roster.end(2, all_sent=False).complete
    rows = roster.rows(lambda blocks: 10 * blocks, 21.0)
    assert rows[ONE.host]["acked_bytes"] == 70  # type: ignore[index]
    assert rows[TWO.host]["state"] == "lost"  # type: ignore[index]
