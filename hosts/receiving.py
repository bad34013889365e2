"""What receivers share: the session that they are in, and how far they have come in it."""

from collections import Counter

from hosts.endpoint import ReceiverEndpoint
from hosts.protocols import Session


class SessionReceiver(ReceiverEndpoint):
    """`state` begins as listening and ends as closed; what is between is the protocol's."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.number = session.session
        """The common header's session; None until one is heard."""
        self.counters: Counter[str] = Counter()
        self.state = "listening"

    @property
    def session_id(self) -> int | None:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"
