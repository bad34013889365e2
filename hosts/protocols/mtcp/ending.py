"""How a receiver's part in a session ends: it confirms the stream, leaves, or is given up.

An agent stays until its children have ended or moved, and its parent knows what became of them.
"""

from typing import TYPE_CHECKING

from hosts.endpoint import Effect, LeaveGroup, Send, SessionEnded
from hosts.protocols.mtcp.control import encode_abort, encode_fin
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.reason import Reason

if TYPE_CHECKING:
    from hosts.protocols.mtcp.receiver import MtcpReceiver

FIN_TRIES = 10
"""A confirmation is repeated this often; then the parent is taken to be gone, and the next above it is told (ours)."""


class Ending:
    """Of one receiver, whose `state` it moves on to leaving, confirming and closed."""

    __slots__ = ("_farewell", "_leave_by", "_receiver", "_tries", "_verdict", "retry_at")

    def __init__(self, receiver: "MtcpReceiver") -> None:
        self._receiver = receiver
        self._verdict: tuple[bool, Reason] | None = None  # the application's
        self._tries = 0
        self._leave_by = 0.0
        self._farewell = ""
        self.retry_at: float | None = None
        """When a confirmation is to be repeated."""

    # --- what the application wants

    def confirmed(self, complete: bool, reason: Reason, now: float) -> list[Effect]:
        """Its verdict on the stream."""
        receiver = self._receiver
        if self._verdict is not None or receiver.state not in ("member", "leaving"):
            return []
        self._verdict = (complete, reason)
        if receiver.serving is None:
            return self._begin_fin(now)
        told = receiver.serving.completed(now) if complete else self._leave(now, reason.text)
        return [*told, *self.end_if_alone(now)]

    def interrupted(self, now: float, text: str) -> list[Effect]:
        """It leaves: in good order at first, at once when it insists."""
        receiver = self._receiver
        if receiver.state == "closed":
            return []
        if receiver.serving is not None and receiver.serving.children and receiver.state == "member":
            return self._leave(now, text)
        return self._abort(text)

    # --- in good order

    def _leave(self, now: float, text: str) -> list[Effect]:
        """Hand the children over, and go when they have gone."""
        receiver = self._receiver
        assert receiver.serving is not None
        receiver.state = "leaving"
        self._farewell = text
        self._leave_by = now + receiver.options.drop_after_s
        to = receiver.place.parent or receiver.place.sender
        return [] if to is None else receiver.serving.family.leave(to, now)

    def end_if_alone(self, now: float) -> list[Effect]:
        """An agent goes when nobody depends on it any more, or when it has waited for that long enough."""
        receiver = self._receiver
        serving = receiver.serving
        if serving is None or receiver.state not in ("member", "leaving"):
            return []
        if serving.children or not serving.roster.is_told:
            return self._abort(self._farewell) if receiver.state == "leaving" and now >= self._leave_by else []
        if self._verdict is not None:
            return self._begin_fin(now)
        return self._abort(self._farewell) if receiver.state == "leaving" else []

    def _begin_fin(self, now: float) -> list[Effect]:
        self._receiver.state = "confirming"
        self._receiver.upward.stop()
        return self._send_fin(now)

    def repeat_fin(self, now: float) -> list[Effect]:
        """No receipt has come so far."""
        return self._send_fin(now) if self.retry_at is not None and now >= self.retry_at else []

    def _send_fin(self, now: float) -> list[Effect]:
        receiver = self._receiver
        lineage = receiver.place.lineage
        level, self._tries = self._tries // FIN_TRIES, self._tries + 1
        if level >= len(lineage):
            return self.acknowledged()
        assert self._verdict is not None
        self.retry_at = now + receiver.options.announce_s
        return [Send(encode_fin(receiver.number or 0, False, *self._verdict), lineage[level])]

    def acknowledged(self) -> list[Effect]:
        """The receipt has come, or nobody is left who could give one."""
        assert self._verdict is not None
        complete, reason = self._verdict
        return self.end(complete, "" if complete else reason.text)

    # --- at once

    def dismissed(self, reason: Reason) -> list[Effect]:
        """The sender has ended the session, or the parent has given us up."""
        told = self._tell_children(reason)
        if self._verdict is not None and self._verdict[0]:
            return [*told, *self.acknowledged()]  # it has the whole stream all the same
        return [*told, *self.end(False, f"the sender ended the session: {reason.text}")]

    def sender_is_gone(self, text: str) -> list[Effect]:
        """Nothing was heard of the sender for too long."""
        return [*self._tell_children(Reason.SENDER_SILENT), *self.end(False, text)]

    def _tell_children(self, reason: Reason) -> list[Effect]:
        """Who was given up is not the sender: its children go on elsewhere."""
        serving = self._receiver.serving
        if serving is None:
            return []
        return serving.family.dismiss(Reason.NOT_A_CHILD if reason in (Reason.SILENT, Reason.STALLED) else reason)

    def _abort(self, text: str) -> list[Effect]:
        receiver = self._receiver
        effects = self._tell_children(Reason.NOT_A_CHILD)
        if receiver.place.parent is not None and receiver.number is not None:
            effects += [Send(encode_abort(receiver.number, Reason.INTERRUPTED), receiver.place.parent)] * ABORT_COPIES
        return effects + self.end(False, text)

    def end(self, complete: bool, reason: str) -> list[Effect]:
        """That was it."""
        receiver = self._receiver
        receiver.state = "closed"
        receiver.reception.clear()
        receiver.serving = None
        session = receiver.session
        return [LeaveGroup(session.group, session.source), SessionEnded(complete, reason)]
