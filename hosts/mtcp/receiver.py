"""MTCP's receiver: a leaf of the tree.

It hears the announcement, joins, delivers the stream in order, and feeds back what it has: delayed acknowledgments,
NACKs at once, window updates in silence (3.1, 3.7, 3.9).
"""

import random
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    Datagram,
    Deliver,
    Effect,
    JoinGroup,
    LeaveGroup,
    ReceiverEndpoint,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.header import PacketError
from hosts.mtcp.control import (
    Abort,
    Announce,
    Fin,
    Join,
    JoinAck,
    Probe,
    encode_abort,
    encode_fin,
    encode_join,
    encode_probe_ack,
)
from hosts.mtcp.options import MtcpOptions
from hosts.mtcp.packets import SACK_BITS, Data, Packet, Repair, encode_feedback, parse
from hosts.mtcp.wire import UNLIMITED
from hosts.protocols import Session
from hosts.reason import Reason
from hosts.sack import ReceivedSet
from hosts.seq import extend

FIN_TRIES = 10
"""A confirmation is repeated this often; after that the sender is taken to be gone (ours)."""
PREMATURE_PACKETS = 16
"""Data that overtook the answer to our join, kept until that comes: a few initial windows (ours)."""
ABORT_COPIES = 3
"""A leave is not acknowledged; it is sent so often (ours)."""


class MtcpReceiver(ReceiverEndpoint):
    """See the module. States: listening (for an announcement), joining, member, confirming, closed."""

    def __init__(self, session: Session, options: MtcpOptions, rng: random.Random) -> None:
        self.session = session
        self.options = options
        self.counters: Counter[str] = Counter()
        self.state = "listening"
        self.sender: Address | None = None
        self.number = session.session
        self.received = ReceivedSet()
        self.delivered = 0
        """Bytes of the stream that went to the application."""
        self._consumed = 0
        self._early: dict[int, Data | Repair] = {}  # out of order
        self._premature: list[tuple[Data, float]] = []  # from our sender, before it told us that we are a member
        self._next = 0  # sequence number of the packet to deliver next
        self._heard_at = 0.0
        self._echo_time_us = 0
        self._echo_at = 0.0
        self._repair_echo_us = 0
        self._unacknowledged = 0  # packets since the last feedback
        self._ack_at: float | None = None
        self._update_period = options.window_update_s
        self._update_at: float | None = None
        self._advertised_end = 0  # stream offset that the last feedback allowed
        self._ended = False  # the last byte was delivered
        self._retry_at: float | None = None  # of a JOIN or FIN
        self._retry_s = options.announce_s
        self._tries = 0
        self._verdict = (False, Reason.NONE)

    # --- the application's side

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self._consumed += count
        if self._consumed > self.delivered:
            raise ValueError("more bytes consumed than were delivered")
        # Tell a sender that stopped before the closed window (RFC 9293, 3.8.6.2.2: half the buffer at once).
        room = self._window_end - self._advertised_end
        least = min(2 * self.options.payload_bytes, self.options.buffer_bytes // 2)
        if (
            self.state == "member"
            and self._advertised_end - self.delivered < self.options.payload_bytes
            and room >= least
            and not self._ended
        ):
            return (self._feedback(False, now),)
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self.state != "member":
            return ()
        self._verdict = (complete, reason)
        self.state = "confirming"
        self._ack_at = self._update_at = None
        self._retry_s = self.options.announce_s
        return self._repeat_fin(now)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        effects: list[Effect] = []
        if self.sender is not None and self.number is not None:
            effects += [Send(encode_abort(self.number, Reason.INTERRUPTED), self.sender)] * ABORT_COPIES
        return effects + self._end(False, reason)

    @property
    def session_id(self) -> int | None:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"

    def sample(self, *, now: float) -> Sample:
        return {
            "state": self.state,
            "received_bytes": self.delivered,
            "early_packets": len(self._early),
            "unconsumed_bytes": self.delivered - self._consumed,
            "data_packets": self.counters["data_packets"],
            "repair_packets": self.counters["repair_packets"],
            "duplicate_packets": self.counters["duplicate_packets"],
            "nacks": self.counters["nacks"],
            "feedback_packets": self.counters["feedback_packets"],
        }

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._heard_at = now
        return (JoinGroup(self.session.group, self.session.source),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.closed:
            return ()
        try:
            packet = parse(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        if packet.session != self.number or datagram.source != self.sender:
            return self._foreign(packet, datagram.source, now)
        self._heard_at = now
        if isinstance(packet, (Data, Repair)):
            if self.state == "member":
                return self._data(packet, now, datagram.arrived_at)
            if self.state == "joining" and isinstance(packet, Data) and len(self._premature) < PREMATURE_PACKETS:
                # The last one to join starts the session, and its two sockets may be read in either order.
                self._premature.append((packet, now if datagram.arrived_at is None else datagram.arrived_at))
            else:
                self.counters["drop_not_member"] += 1
            return ()
        return self._control(packet, now)

    def _foreign(self, packet: Packet, source: Address, now: float) -> Sequence[Effect]:
        """From someone who is not, or not yet, known as the sender."""
        if self.number is not None and packet.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        wanted = self.session.source is None or source.host == self.session.source
        # Data instead of an announcement: the session has started; asking to join brings the sender's refusal.
        if self.state != "listening" or not wanted or not isinstance(packet, (Announce, Data)):
            self.counters["drop_stranger"] += 1
            return ()
        self.number = packet.session
        self.sender = source
        self.state = "joining"
        self._heard_at = now
        return self._repeat_join(now)

    def _control(self, packet: Packet, now: float) -> Sequence[Effect]:
        if isinstance(packet, Probe):
            return (self._to_sender(encode_probe_ack(packet.session, packet.time_us, 0)),)
        if isinstance(packet, JoinAck) and self.state == "joining":
            if packet.reason is not Reason.NONE:
                return self._end(False, f"refused: {packet.reason.text}")
            self.state = "member"
            self._retry_at = None
            self._update_at = now + self._update_period
            self._advertised_end = self._window_end
            premature, self._premature = self._premature, []
            return (
                SessionStarted(self.sender),
                *(effect for data, arrived_at in premature for effect in self._data(data, now, arrived_at)),
            )
        if isinstance(packet, Fin) and packet.answer and self.state == "confirming":
            return self._end_as_confirmed()
        if isinstance(packet, Abort):
            if self.state == "confirming" and self._verdict[0]:
                return self._end_as_confirmed()  # it has the whole stream, whatever becomes of the others
            return self._end(False, f"the sender ended the session: {packet.reason.text}")
        self.counters["drop_unexpected"] += 1
        return ()

    # --- data

    @property
    def _window_end(self) -> int:
        return self._consumed + self.options.buffer_bytes

    def _data(self, packet: Data | Repair, now: float, arrived_at: float | None) -> Sequence[Effect]:
        received = self.received
        seq = extend(packet.seq, received.cumulative)
        end = received.end
        if (
            seq - received.cumulative > SACK_BITS
            or packet.offset + len(packet.payload) > self._window_end
            or (seq >= received.cumulative and packet.offset < self.delivered)
        ):
            self.counters["drop_outside_window"] += 1
            return ()
        if isinstance(packet, Data):
            self.counters["data_packets"] += 1
            self._echo_time_us = packet.send_time_us
            self._echo_at = now if arrived_at is None else arrived_at
        else:
            self.counters["repair_packets"] += 1
            self._repair_echo_us = packet.repair_time_us
        effects: list[Effect] = []
        if received.add(seq):
            self._early[seq] = packet
            if not self._deliver(effects):
                effects += self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
                return effects
        else:
            self.counters["duplicate_packets"] += 1
        self._unacknowledged += 1
        self._update_period = self.options.window_update_s
        self._update_at = now + self._update_period
        if seq > end:
            self.counters["nacks"] += 1
            effects.append(self._feedback(True, now))
        elif type(packet) is Repair or self._ended or self._unacknowledged >= self.options.ack_every:
            effects.append(self._feedback(False, now))
        elif self._ack_at is None:
            self._ack_at = now + self.options.ack_delay_s
        return effects

    def _deliver(self, effects: list[Effect]) -> bool:
        """Deliver what is in order now; False when the stream contradicts itself."""
        while (packet := self._early.pop(self._next, None)) is not None:
            if packet.offset != self.delivered or self._ended:
                return False
            self._next += 1
            if packet.payload:
                self.delivered += len(packet.payload)
                effects.append(Deliver(packet.offset, packet.payload))
            if packet.end:
                self._ended = True
                effects.append(StreamEnded(self.delivered))
        return True

    def _feedback(self, nack: bool, now: float) -> Send:
        """What has arrived, and the (neutral) summary of a leaf."""
        received = self.received
        self._unacknowledged = 0
        self._ack_at = None
        self._advertised_end = self._window_end
        self.counters["feedback_packets"] += 1
        self._update_at = now + self._update_period
        held_us = int((now - self._echo_at) * 1e6) if self._echo_time_us else 0
        data = encode_feedback(
            self.number or 0,
            nack,
            received.cumulative,
            self._echo_time_us,
            held_us,
            self._repair_echo_us,
            UNLIMITED,
            0,
            self._window_end - self.delivered,
            received.sack,
        )
        return self._to_sender(data)

    # --- retries and timers

    def _to_sender(self, data: bytes) -> Send:
        assert self.sender is not None
        return Send(data, self.sender)

    def _repeat_join(self, now: float) -> Sequence[Effect]:
        self._retry_at = now + self._retry_s
        return (
            self._to_sender(
                encode_join(Join(self.number or 0, False, False, False, True, 0, self.options.buffer_bytes, 0))
            ),
        )

    def _repeat_fin(self, now: float) -> Sequence[Effect]:
        if self._tries == FIN_TRIES:
            return self._end_as_confirmed()
        self._tries += 1
        self._retry_at = now + self._retry_s
        return (self._to_sender(encode_fin(self.number or 0, False, *self._verdict)),)

    def _end_as_confirmed(self) -> list[Effect]:
        complete, reason = self._verdict
        return self._end(complete, "" if complete else reason.text)

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.state = "closed"
        self._early.clear()
        return [LeaveGroup(self.session.group, self.session.source), SessionEnded(complete, reason)]

    @property
    def wake_at(self) -> float | None:
        if self.state == "member":
            at = self._heard_at + self.options.silence_s
            if self._ack_at is not None and self._ack_at < at:
                at = self._ack_at
            if self._update_at is not None and self._update_at < at:
                at = self._update_at
            return at
        return self._retry_at if self.state in ("joining", "confirming") else None

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "member":
            if now >= self._heard_at + self.options.silence_s:
                return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
            if self._ack_at is not None and now >= self._ack_at:
                return (self._feedback(False, now),)
            if self._update_at is not None and now >= self._update_at:
                self._update_period += self.options.window_update_step_s
                return (self._feedback(False, now),)
        elif self._retry_at is not None and now >= self._retry_at:
            if self.state == "confirming":
                return self._repeat_fin(now)
            if self.state == "joining":
                if now >= self._heard_at + self.options.silence_s:
                    return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
                return self._repeat_join(now)
        return ()
