"""The application's half of endpoints of real-time data, and whom they listen to: what Arbor, TFMCC and VLMCC share.

Nothing is repeated or confirmed: a sender goes on until its application ends, a receiver hands over what arrives.
"""

import random
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    JoinGroup,
    LeaveGroup,
    Send,
    SendRun,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.parts.doubt import Doubt
from hosts.parts.receiving import SessionReceiver
from hosts.parts.sending import StreamSender
from hosts.protocol import Session
from hosts.wire.checks import OfSession, read_packet
from hosts.wire.farewell import ABORT_COPIES
from hosts.wire.reason import Reason

MOST_UNSENT: Final = 1 << 24
"""Bytes of the application that wait at most, whatever rate receivers claim (ours: 0.2 s at 670 Mbit/s)."""
END_COPIES: Final = 3
"""The end is not acknowledged; it is said so often (ours)."""
LEAVE_COPIES: Final = 3
"""Nor is the leave of a receiver that the sender goes by (ours)."""
LATE_S: Final = 0.005
"""What a busy machine's timer is late does not lower a rate (ours)."""
LEAST_ROOM: Final = 4
"""Packets' payloads that the application may always have waiting (ours)."""

P = TypeVar("P", bound=OfSession)


class RealtimeSender(StreamSender):
    """States: waiting (for `start`), sending, closed."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        super().__init__(session, rng)
        self.sent_bytes = 0
        self.seq = 0
        self._ends_left = END_COPIES
        self._started_at = 0.0
        self._now = 0.0

    @abstractmethod
    def _transmit(self, now: float) -> Sequence[Effect]:
        """Send what may be sent now."""

    @property
    def _has_payload(self) -> bool:
        """Whether there is something to send."""
        return bool(self._unsent) or self._finishing

    def _room(self, payload_bytes: int, at_rate: int) -> int:
        """`send_space`, where so many bytes may wait at the current rate."""
        if self._finishing or self.state != "sending":
            return 0
        return max(0, min(max(LEAST_ROOM * payload_bytes, at_rate), MOST_UNSENT) - len(self._unsent))

    def _take_payload(self, most: int) -> tuple[bytes, bool]:
        """What the next packet carries, `most` bytes at most, and whether the stream ends with it."""
        payload = self._unsent.take(most)
        ends = self._finishing and not self._unsent
        self._ends_left -= ends
        return payload, ends

    def _send_data(self, encoded: bytes, payload_bytes: int, ecn: int, effects: list[Effect]) -> None:
        """A DATA packet leaves for the group; with the last copy of the end the session is over."""
        self.seq += 1
        self.sent_bytes += payload_bytes
        self.counters["data_packets"] += 1
        self.counters["udp_bytes"] += len(encoded)
        effects.append(Send(encoded, self.session.group, ecn))
        if self._ends_left == 0:
            self.state = "closed"
            effects.append(SessionEnded(True, ""))

    def _send_data_run(self, encoded: bytes, size: int, payload_bytes: int, ecn: int, effects: list[Effect]) -> None:
        """Several DATA packets of `size` bytes leave together, none of them with the end."""
        run = SendRun(encoded, self.session.group, ecn, size)
        self.seq += run.packets
        self.sent_bytes += payload_bytes
        self.counters["data_packets"] += run.packets
        self.counters["udp_bytes"] += len(encoded)
        effects.append(run)

    @abstractmethod
    def _abort(self, reason: Reason) -> bytes:
        """The packet that ends the session."""

    def _resume(self, now: float) -> Sequence[Effect]:
        return self._transmit(now)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        """Real-time data wait for nobody."""
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        self.state = "closed"
        self.detail = reason
        packet = self._abort(Reason.INTERRUPTED)
        return [*[Send(packet, self.session.group)] * ABORT_COPIES, SessionEnded(False, reason)]


class RealtimeReceiver(SessionReceiver):
    """States: listening (for data), member, closed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.sender: Address | None = None
        self.received_bytes = 0  # of payload
        self.data_packets = 0
        self._heard_at = 0.0  # when data came that are not the end
        self._doubt = Doubt[Reason | int]()
        """Of an abort, or of the end of a stream of so many bytes."""

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        """Datagrams take no buffer."""
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        """Real-time data are not confirmed; an application that cannot go on leaves."""
        if complete or self.state == "closed":
            return ()
        return self.close(now=now, reason=reason.text)

    def start(self, *, now: float) -> Sequence[Effect]:
        self._heard_at = now
        return (JoinGroup(self.session.group, self.session.source),)

    def _is_ours(self, datagram: Datagram, number: int, effects: list[Effect]) -> bool:
        """Whether data of session `number` comes from our sender; the first session that is heard is taken."""
        if self.state == "closed":
            return False
        if (self.number is not None and number != self.number) or datagram.destination != self.session.group:
            self.counters["drop_other_session"] += 1
            return False
        if self.sender is not None:
            if datagram.source == self.sender:
                return True
            self.counters["drop_stranger"] += 1
            return False
        if not self.session.admits(datagram.source):
            self.counters["drop_stranger"] += 1
            return False
        self.number = number
        self.sender = datagram.source
        self.state = "member"
        effects.append(SessionStarted(self.sender))
        return True

    def _told(self, datagram: Datagram, parse: Callable[[bytes], P]) -> P | None:
        """What our sender says in our session beside its data; None, and a drop counted, when it is anything else."""
        packet = read_packet(datagram.data, parse, self.counters)
        if packet is None:
            return None
        if datagram.source != self.sender or packet.session != self.number or self.closed:
            is_other = packet.session != self.number
            self.counters["drop_other_session" if is_other else "drop_stranger"] += 1
            return None
        return packet

    def _aborted(self, reason: Reason, datagram: Datagram, now: float) -> list[Effect]:
        """Our sender gives the session up, it seems."""
        first = self._doubt.said(reason, now, to_one=self.is_to_one(datagram))
        return [] if first is None else self._over(first)

    def _stream_ends(self, length: int, now: float) -> None:
        """So the packet says."""
        self._doubt.said(length, now, to_one=False)

    def _believe(self, now: float) -> list[Effect]:
        """The end, if what was said of it agrees with what has come since."""
        what = self._doubt.believed(self._heard_at, now)
        return [] if what is None else self._over(what)

    def _over(self, what: Reason | int) -> list[Effect]:
        if isinstance(what, Reason):
            return self._end(False, f"the sender ended the session: {what.text}")
        return [StreamEnded(what), *self._end(True, "")]

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.state = "closed"
        return [LeaveGroup(self.session.group, self.session.source), SessionEnded(complete, reason)]
