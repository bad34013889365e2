"""Two senders in one group: a receiver takes one session, and its user is told of the other."""

import random
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, Send
from hosts.protocol import Session
from hosts.security.complaint import others

GROUP = Address("239.1.0.7", 5007)
FIRST, SECOND = 1, 2
STEP_S = 0.01
FILES = ("arbor", "mtcp", "rla", "tfmcc")
STREAMS = ("arbor", "tfmcc", "vlmcc", "webrc")
KINDS = [(name, False) for name in FILES] + [(name, True) for name in STREAMS]


def address(number: int) -> Address:
    return Address(f"10.0.0.{number}", 4000)


OWN = address(9)


class Two:
    """Senders of both sessions and one receiver, on one wire. What the receiver says to the first sender arrives where
    `answers` says so."""

    def __init__(self, name: str, realtime: bool, *, answers: bool = True) -> None:
        protocol = protocols.get(name)
        self.answers = answers
        self.senders: dict[Address, Any] = {}
        for number in (FIRST, SECOND):
            session = Session(GROUP, session=number, realtime=realtime)
            self.senders[address(number)] = protocol.sender(session, random.Random(number), {})
        self.receiver = protocol.receiver(Session(GROUP, realtime=realtime), random.Random(9), {})
        self.members = {**self.senders, OWN: self.receiver}
        for place, endpoint in self.members.items():
            endpoint.place(place)
            self._carry(place, endpoint.start(now=0.0), 0.0)

    def run(self, seconds: float) -> None:
        for step in range(1, int(seconds / STEP_S)):
            now = step * STEP_S
            for place, endpoint in self.members.items():
                if place != OWN and endpoint.send_space:
                    self._carry(place, endpoint.write(bytes(min(1000, endpoint.send_space)), now=now), now)
                if (due := endpoint.wake_at) is not None and due <= now:
                    self._carry(place, endpoint.handle_timer(now=now), now)

    def _carry(self, source: Address, effects: Any, now: float) -> None:
        for effect in effects:
            to = (
                OWN
                if isinstance(effect, Send) and effect.destination == GROUP
                else getattr(effect, "destination", None)
            )
            if to in self.members and (to != address(FIRST) or self.answers):
                sent = Datagram(effect.data, source, effect.destination)
                self._carry(to, self.members[to].receive(sent, now=now), now)

    def says(self, what: str, session: int) -> None:
        """The user is told of it, and which session is the receiver's own."""
        words = others(self.receiver.counters, self.receiver.session_id)
        assert words is not None
        assert what in words
        assert f"session {session}" in words


@pytest.mark.parametrize(("name", "realtime"), KINDS)
def test_one_is_taken_and_the_user_is_told_of_the_other(name: str, realtime: bool) -> None:
    two = Two(name, realtime)
    two.run(3.0)
    assert two.receiver.session_id == FIRST
    two.says("another session", FIRST)


@pytest.mark.parametrize("name", ["mtcp", "rla", "tfmcc"])
def test_one_that_answers_nothing_is_left_for_the_other(name: str) -> None:
    two = Two(name, realtime=False, answers=False)
    two.run(3.0)
    assert two.receiver.session_id == SECOND
    two.says("answers nothing", SECOND)


def test_where_there_is_one_nothing_is_said() -> None:
    assert others({"drop_stranger": 3}, 7) is None
    assert others({"drop_other_session": 1}, None) is None
