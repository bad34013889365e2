"""The application's half of a stream's sender, with the least of a protocol below it."""

import random
from collections.abc import Sequence

import pytest

from hosts.endpoint import Address, Effect, Send
from hosts.parts.sending import StreamSender
from hosts.protocol import Session
from tests.hosts.stub import Still

GROUP = Address("232.1.0.1", 5001)
SPACE = 100


class Sender(StreamSender, Still):
    """Takes 100 bytes, of which none leaves; says how many they are whenever it is asked to go on, with a full stop
    behind the last."""

    @property
    def send_space(self) -> int:
        return 0 if self._finishing else SPACE - len(self._unsent)

    def _resume(self, now: float) -> Sequence[Effect]:
        return [Send(b"%d" % len(self._unsent) + b"." * self._finishing, GROUP)]

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self.state = "closed"
        return ()


def test_what_is_written_waits_in_order_and_the_protocol_is_asked_to_go_on() -> None:
    sender = Sender(Session(GROUP, session=7), random.Random(1))
    assert sender.write(b"ab", now=0.0) == [Send(b"2", GROUP)]
    assert sender.write(memoryview(b"cd"), now=0.1) == [Send(b"4", GROUP)]
    assert sender.finish(now=0.2) == [Send(b"4.", GROUP)]
    assert sender._unsent.take(SPACE) == b"abcd"


def test_a_write_beyond_the_space_is_the_application_s_mistake() -> None:
    sender = Sender(Session(GROUP, session=7), random.Random(1))
    sender.write(b"x" * SPACE, now=0.0)
    with pytest.raises(ValueError, match="write of 1 bytes where send_space is 0"):
        sender.write(b"y", now=0.0)
    assert sender.finish(now=0.1) == [Send(b"100.", GROUP)]


def test_a_session_without_a_number_draws_one() -> None:
    numbers = {Sender(Session(GROUP), random.Random(seed)).session_id for seed in range(20)}
    assert len(numbers) == 20
    assert 0 not in numbers
    assert Sender(Session(GROUP, session=7), random.Random(1)).session_id == 7


def test_a_session_is_closed_when_its_state_says_so() -> None:
    sender = Sender(Session(GROUP), random.Random(1))
    assert not sender.closed
    sender.close(now=0.0, reason="enough")
    assert sender.closed
