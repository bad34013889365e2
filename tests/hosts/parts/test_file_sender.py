"""Before a file is sent, and after, with the least of a protocol below it."""

import random
from collections.abc import Sequence

import pytest

from hosts.endpoint import Address, Effect, PeerDropped, PeerFinished, Send, SessionEnded
from hosts.parts.file_sender import FileSender
from hosts.parts.roster import Member
from hosts.protocol import Session
from hosts.wire.farewell import ABORT_COPIES, MemberFin
from hosts.wire.reason import Reason
from tests.hosts.stub import Still

GROUP = Address("232.1.0.1", 5001)
NEAR, FAR = Address("10.0.0.1", 5000), Address("10.0.0.2", 5000)
WAIT_S = 10.0
INVITES_S = 0.25


class Sender(FileSender, Still):
    """Sends nothing but what a FileSender does by itself."""

    def __init__(self) -> None:
        super().__init__(Session(GROUP, None, 7, 2, WAIT_S), random.Random(1))
        self._has_file(1000, 4)
        self._wait_until = WAIT_S
        self.invited = 0
        self.gone: list[int] = []

    def _transmit(self, now: float) -> Sequence[Effect]:
        return ()

    def _abort(self, reason: Reason) -> bytes:
        return bytes((reason,))

    def _begin(self, now: float) -> list[Effect]:
        self.state = "sending"
        self._file.begin(now)
        return []

    def _invite(self, now: float) -> list[Effect]:
        self.invited += 1
        return []

    @property
    def _invites_at(self) -> float:
        return self.invited * INVITES_S

    def _receipt(self, fin: MemberFin) -> bytes:
        return b"receipt"

    def _gone(self, receiver: int, now: float) -> None:
        self.gone.append(receiver)

    @property
    def wake_at(self) -> float | None:
        return self._rests_until

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._rest(now) if self.state != "sending" else self._give_up(1.0, now)

    def fin(self, receiver: int, source: Address, now: float) -> Sequence[Effect]:
        return self._fin(MemberFin(7, False, True, Reason.NONE, receiver), source, now)


@pytest.fixture
def sender() -> Sender:
    """Two receivers have joined."""
    made = Sender()
    for number, address in enumerate((NEAR, FAR), 1):
        made.roster.members[number] = Member(address, 0.0, 0.0, 0.1)
    return made


def test_it_invites_until_it_has_waited_long_enough() -> None:
    sender = Sender()
    assert sender.wake_at == 0.0
    sender.handle_timer(now=0.0)
    assert (sender.wake_at, sender.detail) == (INVITES_S, "0 of 2 receivers have joined")
    assert isinstance(sender.handle_timer(now=WAIT_S)[-1], SessionEnded)
    assert sender.detail == "no receiver joined within 10 s"
    assert sender.wake_at is None


def test_it_begins_with_those_that_have_joined(sender: Sender) -> None:
    sender.handle_timer(now=WAIT_S)
    assert sender.state == "sending"
    assert (sender.invited, sender.wake_at) == (0, None)


def test_the_rate_goes_by_nobody_who_is_through_or_given_up(sender: Sender) -> None:
    sender.start_now(now=1.0)
    sender.blocks.write(b"file")
    sender.blocks.finish()
    assert sender.fin(1, NEAR, 1.5) == [Send(b"receipt", NEAR), PeerFinished(NEAR, True, "")]
    assert sender.gone == [1]
    assert sender.fin(1, NEAR, 1.6) == [Send(b"receipt", NEAR)], "it is told again, and is gone once"
    for at in (-0.5, 0.5, 1.5):
        sender.roster.members[2].heard(at)
        sender.roster.members[2].says(at, at)
    told, dropped = sender.handle_timer(now=3.0)
    assert told == Send(bytes((Reason.SILENT,)), FAR)
    assert dropped == PeerDropped(FAR, Reason.SILENT.text)
    assert sender.gone == [1, 2]


def test_when_none_has_said_a_word_it_waits_for_others_as_long_as_it_would_have(sender: Sender) -> None:
    sender.start_now(now=1.0)
    sender.blocks.write(b"file")
    sender.blocks.finish()
    assert PeerDropped(FAR, Reason.UNPROVEN.text) in sender.handle_timer(now=3.0)
    assert sender.state == "sending"
    assert sender.blocks.has_all
    sender.handle_timer(now=WAIT_S)
    assert sender.state == "closing"


def test_it_takes_leave_of_the_group_when_all_are_through(sender: Sender) -> None:
    sender.start_now(now=1.0)
    sender.blocks.write(b"file")
    sender.blocks.finish()
    sender.fin(1, NEAR, 1.5)
    sender.fin(2, FAR, 2.0)
    assert sender.state == "closing"
    told: list[Effect] = []
    while sender.state == "closing":
        assert sender.wake_at is not None
        told += sender.handle_timer(now=sender.wake_at)
    assert told == [Send(bytes((Reason.NONE,)), GROUP)] * ABORT_COPIES + [SessionEnded(True, "")]
    assert sender.wake_at is None
