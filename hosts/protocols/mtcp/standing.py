"""Where a receiver stands in a session: its states, and what it still has to see to before it goes."""

import enum
from typing import Final

from hosts.endpoint import Address, Effect, Send
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.tree_packets import encode_fin
from hosts.wire.reason import Reason

FIN_TRIES = 10
"""A confirmation is repeated this often; then the parent is taken to be gone, and the next above it is told (ours)."""


class ReceiverState(enum.Enum):
    """A receiver's, in the words of docs/status.md."""

    LISTENING = "listening"  # for an announcement
    JOINING = "joining"  # it looks for a parent
    MEMBER = "member"
    LEAVING = "leaving"  # until its children have moved
    CONFIRMING = "confirming"  # until somebody above knows its verdict
    CLOSED = "closed"


NEXT: Final = {
    ReceiverState.LISTENING: (ReceiverState.JOINING, ReceiverState.CLOSED),
    ReceiverState.JOINING: (ReceiverState.MEMBER, ReceiverState.LISTENING, ReceiverState.CLOSED),
    ReceiverState.MEMBER: (ReceiverState.LEAVING, ReceiverState.CONFIRMING, ReceiverState.CLOSED),
    ReceiverState.LEAVING: (ReceiverState.LEAVING, ReceiverState.CONFIRMING, ReceiverState.CLOSED),
    ReceiverState.CONFIRMING: (ReceiverState.CLOSED,),
    ReceiverState.CLOSED: (),
}
"""The ways from one to another."""


class Standing:
    """The state, the application's verdict on the stream on its way up, and until when the children are waited for.
    Times are seconds on the receiver's clock.
    """

    __slots__ = (
        "_fins",
        "_options",
        "complete",
        "is_judged",
        "leave_by",
        "leave_reason",
        "reason",
        "retry_at",
        "state",
    )

    def __init__(self, options: MtcpOptions) -> None:
        self._options = options
        self.state = ReceiverState.LISTENING
        self.is_judged = False
        """Whether the application has said whether it has the whole stream."""
        self.complete = False
        self.reason = Reason.NONE
        """Why it has not."""
        self._fins = 0
        self.retry_at: float | None = None
        """When the confirmation is to be repeated."""
        self.leave_by = 0.0
        self.leave_reason = ""

    def enter(self, state: ReceiverState) -> None:
        """Change the state: nothing else does."""
        assert state in NEXT[self.state], (self.state, state)
        self.state = state

    @property
    def wants_no_more(self) -> bool:
        """Whether an end costs it nothing: it has the whole stream, or has said that it will not."""
        return self.is_judged and (self.complete or self.state is ReceiverState.CONFIRMING)

    @property
    def takes_part(self) -> bool:
        """Whether it has a place in the tree, or had one and looks for another."""
        return self.state is ReceiverState.MEMBER or self.state is ReceiverState.LEAVING

    def judge(self, complete: bool, reason: Reason) -> None:
        """The application's verdict."""
        self.is_judged = True
        self.complete = complete
        self.reason = reason

    def leave(self, reason: str, now: float) -> None:
        """The children are handed over, and waited for long enough."""
        self.leave_reason = reason
        self.leave_by = now + self._options.drop_after_s

    def fin(self, session: int, lineage: tuple[Address, ...], now: float) -> list[Effect] | None:
        """The confirmation for the nearest above that may live; None: nobody is left who could answer."""
        level, self._fins = self._fins // FIN_TRIES, self._fins + 1
        if level >= len(lineage):
            return None
        self.retry_at = now + self._options.announce_s
        return [Send(encode_fin(session, False, self.complete, self.reason), lineage[level])]
