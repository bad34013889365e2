"""What every receiver has, with the least of a protocol below it."""

from collections.abc import Sequence

from hosts.endpoint import Address, Effect
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.wire.reason import Reason
from tests.hosts.stub import Still

GROUP = Address("232.1.0.1", 5001)


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
