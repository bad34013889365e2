"""What every receiver has, with the least of a protocol below it."""

from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, Effect
from hosts.parts.receiving import UNANSWERED_S, SessionReceiver
from hosts.protocol import Session
from hosts.wire.reason import Reason
from tests.hosts.stub import Still

GROUP = Address("232.1.0.1", 5001)
ONE, OTHER = Address("10.0.0.1", 40000), Address("10.0.0.2", 40000)


class Receiver(SessionReceiver, Still):
    """Gives up when it is told to."""

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self.state = "closed"
        return ()


def test_a_session_has_the_number_that_was_given_or_heard() -> None:
    assert Receiver(Session(GROUP, session=7)).session_id == 7
    receiver = Receiver(Session(GROUP))
    assert receiver.session_id is None
    receiver.number = 9
    assert receiver.session_id == 9


def test_a_session_is_closed_when_its_state_says_so() -> None:
    receiver = Receiver(Session(GROUP))
    assert (receiver.state, receiver.closed) == ("listening", False)
    receiver.close(now=0.0, reason="enough")
    assert receiver.closed


def hears(receiver: Receiver, session: int, now: float, *, announced: bool = True, to: Address = GROUP) -> bool:
    begun = receiver.begins(session, Datagram(b"", ONE, to), now, announced=announced, may_be_first=announced)
    if begun:
        receiver.state = "joining"
    return begun


def test_a_session_begins_with_what_may_be_its_first_word() -> None:
    receiver = Receiver(Session(GROUP))
    assert not hears(receiver, 7, 1.0, announced=False)
    assert not hears(receiver, 7, 1.0, to=OTHER)
    assert receiver.counters == {"drop_stranger": 2}
    assert hears(receiver, 7, 1.0)
    assert (receiver.number, receiver.joining_since) == (7, 1.0)


def test_another_is_joined_when_the_first_one_has_not_answered_for_long_enough() -> None:
    receiver = Receiver(Session(GROUP))
    assert hears(receiver, 7, 10.0)
    assert not hears(receiver, 8, 10.0 + 0.99 * UNANSWERED_S)
    assert receiver.counters == {"drop_other_session": 1}
    assert hears(receiver, 8, 10.0 + UNANSWERED_S)
    assert receiver.number == 8
    assert not hears(receiver, 9, 10.0 + 1.99 * UNANSWERED_S), "that one has its time, too"
    assert receiver.counters["changed_session"] == 1
