"""What receivers share: the session that they are in, and how far they have come in it."""

from collections import Counter

from hosts.endpoint import Datagram, ReceiverEndpoint
from hosts.protocol import Session
from hosts.wire.tree.checking import TreeChecker


class SessionReceiver(ReceiverEndpoint):
    """`state` begins as listening and ends as closed; what is between is the protocol's."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.number = session.session
        """The common header's session; None until one is heard."""
        self.counters: Counter[str] = Counter()
        self.state = "listening"
        self.checker: TreeChecker | None = None
        """By which wrong data are known."""

    def may_begin_with(self, datagram: Datagram) -> bool:
        """Whether a datagram may be the first that is heard of the session: by unicast anybody could begin one."""
        return (
            self.state == "listening"
            and datagram.destination == self.session.group
            and self.session.admits(datagram.source)
        )

    @property
    def session_id(self) -> int | None:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"
