"""What senders of a stream share: the application's bytes that have not left yet, and what every session has."""

import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import Effect, SenderEndpoint
from hosts.parts.unsent import Unsent
from hosts.protocol import Session
from hosts.wire.header import SESSION_MAX


class StreamSender(SenderEndpoint):
    """`state` begins as waiting, unless the protocol says otherwise, and ends as closed; what is between is its own."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        self.session = session
        self.number = rng.randint(1, SESSION_MAX) if session.session is None else session.session
        self.counters: Counter[str] = Counter()
        self.state = "waiting"
        self.detail = ""
        self._unsent = Unsent()
        self._finishing = False

    @abstractmethod
    def _resume(self, now: float) -> Sequence[Effect]:
        """The application has done something: go on if that was what was missing."""

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        if len(data) > self.send_space:
            raise ValueError(f"write of {len(data)} bytes where send_space is {self.send_space}")
        self._unsent.add(data)
        return self._resume(now)

    def finish(self, *, now: float) -> Sequence[Effect]:
        self._finishing = True
        return self._resume(now)

    @property
    def session_id(self) -> int:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"
