"""A receiver's part in a session: where it stands, and how it goes, in good order or at once.

In good order it tells above whether it has the whole stream, and is answered; an agent first hands its children over,
or waits until they have ended, and its parent knows what became of them. What it does as long as it takes part is
receiver.py's.
"""

import random
from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, Effect, LeaveGroup, Send, SessionEnded
from hosts.parts.doubt import Doubt
from hosts.parts.reassembly import Reassembly
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.protocols.mtcp.attachment import Attachment
from hosts.protocols.mtcp.feedback import ReceiverFeedback
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Data, Repair
from hosts.protocols.mtcp.serving import Serving
from hosts.protocols.mtcp.standing import ReceiverState, Standing
from hosts.protocols.mtcp.tree_packets import encode_abort
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.reason import Reason


class Participant(SessionReceiver):
    """What it is made of does not know it: it asks its parts, and tells one what another needs."""

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self._standing = Standing(options)
        self.reception: Reassembly[Data | Repair] = Reassembly(0, 0, options.buffer_bytes, options.reach)
        self.attachment = Attachment(options, rng)
        self.feedback = ReceiverFeedback(options, self.counters, self.reception, self.attachment)
        self.serving: Serving | None = None
        """What it does for others; None while nobody has asked."""
        self._doubt = Doubt[tuple[Reason, Address]]()
        """Of an abort, and whose it is said to be."""

    def _enter(self, state: ReceiverState) -> None:
        self._standing.enter(state)
        self.state = state.value

    # --- in good order

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self._standing.is_judged or not self._standing.takes_part:
            return ()
        self._standing.judge(complete, reason)
        if self.serving is None:
            return self._begin_fin(now)
        told = self.serving.completed(now) if complete else self._leave(now, reason.text)
        return [*told, *self._end_if_alone(now)]

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        """It leaves: in good order at first, at once when it insists."""
        if self.closed:
            return ()
        if self.serving is not None and self.serving.children and self._standing.state is ReceiverState.MEMBER:
            return self._leave(now, reason)
        return self._abort(reason)

    def _leave(self, now: float, reason: str) -> list[Effect]:
        """Hand the children over, and go when they have gone."""
        assert self.serving is not None
        self._enter(ReceiverState.LEAVING)
        self._standing.leave(reason, now)
        return self.serving.leave(now)

    def _end_if_alone(self, now: float) -> list[Effect]:
        """An agent goes when nobody depends on it any more, or when it has waited for that long enough."""
        standing = self._standing
        if self.serving is None or not standing.takes_part:
            return []
        leaving = standing.state is ReceiverState.LEAVING
        if not self.serving.is_alone:
            return self._abort(standing.leave_reason) if leaving and now >= standing.leave_by else []
        if standing.is_judged:
            return self._begin_fin(now)
        return self._abort(standing.leave_reason) if leaving else []

    def _begin_fin(self, now: float) -> list[Effect]:
        self._enter(ReceiverState.CONFIRMING)
        self.feedback.stop()
        return self._send_fin(now)

    def _send_fin(self, now: float) -> list[Effect]:
        effects = self._standing.fin(self.number or 0, self.attachment.nearest, now)
        return self._confirmed() if effects is None else effects

    def _confirmed(self) -> list[Effect]:
        """The receipt has come, or nobody is left who could give one."""
        standing = self._standing
        return self._end(standing.complete, "" if standing.complete else standing.reason.text)

    # --- at once

    def _aborted(self, reason: Reason, datagram: Datagram, now: float) -> list[Effect]:
        """The sender or the parent has said that it is over."""
        if self._standing.wants_no_more:
            return self._dismissed(reason)
        first = self._doubt.said((reason, datagram.source), now, to_one=self.is_to_one(datagram))
        return [] if first is None else self._dismissed(first[0])

    def _believe(self, now: float) -> list[Effect]:
        """The end, if what was said of it agrees with what has come since."""
        doubt, place = self._doubt, self.attachment
        if doubt.what is None:
            return []
        reason, source = doubt.what
        heard_at = place.sender_heard_at if source == place.sender else place.heard_at
        if doubt.believed(heard_at, now) is not None:
            return self._dismissed(reason)
        return self.feedback.send(False, now) if doubt.is_open(now) and place.parent is not None else []

    def _dismissed(self, reason: Reason) -> list[Effect]:
        """The sender has ended the session, or the parent has given us up."""
        told = self._dismiss_children(reason)
        if self._standing.wants_no_more:
            return [*told, *self._confirmed()]
        return [*told, *self._end(False, f"the sender ended the session: {reason.text}")]

    def _dismiss_children(self, reason: Reason) -> list[Effect]:
        return [] if self.serving is None else self.serving.dismiss(reason)

    def _abort(self, reason: str) -> list[Effect]:
        effects = self._dismiss_children(Reason.NOT_A_CHILD)
        parent = self.attachment.parent
        if parent is not None and self.number is not None:
            effects += [Send(encode_abort(self.number, Reason.INTERRUPTED), parent)] * ABORT_COPIES
        return effects + self._end(False, reason)

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self._enter(ReceiverState.CLOSED)
        self.reception.clear()
        self.serving = None
        return [LeaveGroup(self.session.group, self.session.source), SessionEnded(complete, reason)]
