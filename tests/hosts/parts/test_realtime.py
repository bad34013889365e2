"""The application's half of real-time endpoints, with the least of a protocol below it."""

import random
from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, Effect, JoinGroup, LeaveGroup, Send, SessionEnded, SessionStarted
from hosts.parts.realtime import RealtimeReceiver, RealtimeSender
from hosts.protocol import Session
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.reason import Reason
from tests.hosts.stub import Still

GROUP = Address("232.1.0.1", 5001)
SENDER = Address("10.0.0.1", 40000)
STRANGER = Address("10.0.0.9", 40000)


class Sender(RealtimeSender, Still):
    """Takes 100 bytes, and sends nothing."""

    @property
    def send_space(self) -> int:
        return 100 - len(self._unsent)

    def _transmit(self, now: float) -> Sequence[Effect]:
        return ()

    def _abort(self, reason: Reason) -> bytes:
        return bytes((self.number & 0xFF, reason))


class Receiver(RealtimeReceiver, Still):
    """What arrives is of the session that its first byte names."""

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        self.data_packets += self._is_ours(datagram, datagram.data[0], effects)
        return effects

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self._end(False, reason)


def test_closing_tells_the_group_once() -> None:
    sender = Sender(Session(GROUP, session=7), random.Random(1))
    effects = sender.close(now=1.0, reason="interrupted")
    assert effects == [
        *[Send(bytes((7, Reason.INTERRUPTED)), GROUP)] * ABORT_COPIES,
        SessionEnded(False, "interrupted"),
    ]
    assert sender.closed
    assert sender.close(now=2.0, reason="again") == ()


def heard(receiver: Receiver, number: int, source: Address = SENDER, destination: Address = GROUP) -> Sequence[Effect]:
    return receiver.receive(Datagram(bytes((number,)), source, destination), now=1.0)


def test_the_first_session_that_is_heard_is_taken_and_no_other() -> None:
    receiver = Receiver(Session(GROUP, realtime=True))
    assert receiver.start(now=0.0) == (JoinGroup(GROUP, None),)
    assert heard(receiver, 7) == [SessionStarted(SENDER)]
    assert [heard(receiver, 7), heard(receiver, 8), heard(receiver, 7, STRANGER)] == [[], [], []]
    assert heard(receiver, 7, destination=Address("232.1.0.2", 5001)) == []
    assert (receiver.session_id, receiver.data_packets) == (7, 2)
    assert receiver.counters == {"drop_other_session": 2, "drop_stranger": 1}


def test_a_source_that_was_named_is_the_only_one() -> None:
    receiver = Receiver(Session(GROUP, source=SENDER.host, session=7, realtime=True))
    assert heard(receiver, 7, STRANGER) == []
    assert heard(receiver, 8) == []
    assert heard(receiver, 7) == [SessionStarted(SENDER)]
    assert receiver.counters == {"drop_other_session": 1, "drop_stranger": 1}


def test_an_application_that_cannot_go_on_leaves_and_one_that_is_content_does_not() -> None:
    receiver = Receiver(Session(GROUP, realtime=True))
    heard(receiver, 7)
    assert receiver.consumed(1000, now=1.0) == ()
    assert receiver.confirm(complete=True, now=1.0) == ()
    effects = receiver.confirm(complete=False, now=1.0, reason=Reason.INTERRUPTED)
    assert effects == [LeaveGroup(GROUP, None), SessionEnded(False, Reason.INTERRUPTED.text)]
    assert heard(receiver, 7) == []
    assert receiver.confirm(complete=False, now=2.0) == ()
