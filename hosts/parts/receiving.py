"""What receivers share: the session that they are in, and how far they have come in it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from canopy_engine import StreamFraming

from hosts.endpoint import Datagram, DatagramRun, Effect, ReceiverEndpoint, StreamBegan
from hosts.parts.runs import pieces
from hosts.protocol import Session
from hosts.wire.tree.checking import TreeChecker

UNANSWERED_S: Final = 1.5
"""After so long without an answer to a JOIN another session in the group may be the right one (ours: several repeats;
with MTCP's wait for agents)."""


class SessionReceiver(ReceiverEndpoint):
    """`state` begins as listening and ends as closed; what is between is the protocol's."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.number = session.session
        """The common header's session; None until one is heard."""
        self.counters: Counter[str] = Counter()
        self.state = "listening"
        self.joining_since = 0.0
        """When the session that is being joined was heard of."""
        self.checker: TreeChecker | None = None
        """By which wrong data are known."""
        self.has_data = False
        """Some of the stream have come."""

    def first_data(self, size: int) -> tuple[Effect, ...]:
        """So many bytes of the stream have come: says so of the first ones."""
        if self.has_data:
            return ()
        self.has_data = True
        return (StreamBegan(size),)

    def is_to_one(self, datagram: Datagram) -> bool:
        """Whether it was sent to this receiver alone."""
        return datagram.destination != self.session.group

    def may_begin_with(self, datagram: Datagram) -> bool:
        """Whether a datagram may be the first that is heard of the session: by unicast anybody could begin one."""
        return (
            self.state == "listening"
            and datagram.destination == self.session.group
            and self.session.admits(datagram.source)
        )

    def may_change_to(self, session: int, datagram: Datagram, now: float) -> bool:
        """Whether another session that is announced may be the one that is meant: none was asked for, and who announced
        the first answers no JOIN."""
        return (
            self.session.session is None
            and self.state == "joining"
            and session != self.number
            and now >= self.joining_since + UNANSWERED_S
            and datagram.destination == self.session.group
            and self.session.admits(datagram.source)
        )

    def begins(self, session: int, datagram: Datagram, now: float, *, announced: bool, may_be_first: bool) -> bool:
        """Whether a packet of somebody who is not known as the sender begins the session that it is of, which is joined
        from now on. `announced`: it is an announcement; `may_be_first`: packets of its kind may
        begin one. Others are counted."""
        if announced and self.may_change_to(session, datagram, now):
            self.counters["changed_session"] += 1
        elif self.number is not None and session != self.number:
            self.counters["drop_other_session"] += 1
            return False
        elif not may_be_first or not self.may_begin_with(datagram):
            self.counters["drop_stranger"] += 1
            return False
        self.number = session
        self.joining_since = now
        self.has_data = False
        return True

    def receive_pieces(self, stream: StreamFraming, run: DatagramRun, now: float) -> list[Effect]:
        """Take a run of DATA: what follows each other together, if `_take_run` can, and the rest one by one."""
        effects: list[Effect] = []
        for part, payload in pieces(stream, run):
            taken = self._take_run(part, payload, now)
            effects += super().receive_run(part, now=now) if taken is None else taken
        return effects

    def _take_run(self, run: DatagramRun, payload: bytes, now: float) -> Sequence[Effect] | None:
        """DATA that follow each other, with all their payload. None: they have to be taken one by one."""
        return None

    @property
    def session_id(self) -> int | None:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"
