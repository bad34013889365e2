"""Files over TFMCC: the receiver joins, collects symbols until each block is whole, and says what it lacks (ours)."""

import random
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import Datagram, Effect, Sample, Send, SessionStarted
from hosts.parts.fec.incoming import IncomingBlocks
from hosts.parts.fec.pieces import BlockStatus, following, parse_piece
from hosts.protocol import Session
from hosts.protocols.tfmcc.blocks import encode_status
from hosts.protocols.tfmcc.file_sender import ANNOUNCE_S, LEAST_RTT_S, OPEN_BLOCKS
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    Announce,
    Data,
    Join,
    JoinAck,
    Packet,
    encode_fin,
    encode_join,
    parse,
    parse_data,
)
from hosts.protocols.tfmcc.receiver import TfmccReceiver
from hosts.wire.checks import read_packet
from hosts.wire.farewell import FIN_TRIES, Abort, MemberFin
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason

STATUS_S: Final = 0.25
"""Between two words on blocks, when nothing is lacking (ours)."""


class TfmccFileReceiver(TfmccReceiver):
    """States: listening (for an announcement), joining, member, confirming, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._rng = rng
        self._delivers = True
        self._blocks = IncomingBlocks(options.payload_bytes, OPEN_BLOCKS)
        self._seq = 0  # of the last data packet
        self._status_at: float | None = None
        self._told_at = float("-inf")
        self._retry_at: float | None = None
        self._tries = 0
        self._verdict = (False, Reason.NONE)
        self._announced = (0, 0.0)  # the announcement to answer: its time, and when it came

    # --- the application's side

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        free = self._blocks.free
        self._blocks.consumed(count)
        if self._blocks.free > free and self._status_at is not None:  # the sender may wait for nothing else
            self._status_at = min(self._status_at, now + self.rtt / 2)
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self.state != "member":
            return ()
        self._verdict = (complete, reason)
        self.state = "confirming"
        self._status_at = None
        return self._repeat_fin(now)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.state not in ("member", "confirming") or self.sender is None:
            return super().close(now=now, reason=reason)
        fin = encode_fin(MemberFin(self.number or 0, False, False, Reason.INTERRUPTED, self.id))
        return [Send(fin, self.sender), *super().close(now=now, reason=reason)]

    # --- joining

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        data = parse_data(datagram.data) if self.state in ("listening", "joining") else None
        if data is not None:
            self.counters["drop_premature"] += 1
            # It missed the announcements: the session has begun. The answer to its JOIN says so, where silence would
            # leave it listening for good.
            return self._begin(data.session, data.send_time_us, datagram, now) if self.state == "listening" else ()
        if self.state == "listening" or (self.state == "joining" and datagram.source != self.sender):
            return self._listen(datagram, now)
        return super().receive(datagram, now=now)

    def _listen(self, datagram: Datagram, now: float) -> Sequence[Effect]:
        packet = read_packet(datagram.data, parse, self.counters)
        if packet is None:
            return ()
        if not isinstance(packet, Announce):
            self.counters["drop_other_session"] += 1
            return ()
        if self.may_change_to(packet.session, datagram, now):
            self.counters["changed_session"] += 1
            return self._ask(packet.session, packet.time_us, datagram, now)
        return self._begin(packet.session, packet.time_us, datagram, now)

    def _begin(self, session: int, time_us: int, datagram: Datagram, now: float) -> Sequence[Effect]:
        """Ask the sender of the first session that was heard of."""
        if (self.number is not None and session != self.number) or not self.may_begin_with(datagram):
            self.counters["drop_other_session"] += 1
            return ()
        return self._ask(session, time_us, datagram, now)

    def _ask(self, session: int, time_us: int, datagram: Datagram, now: float) -> Sequence[Effect]:
        """Join a session; `time_us`: its sender's clock when it sent what was heard of it."""
        self.number = session
        self.sender = datagram.source
        self.state = "joining"
        self.joining_since = now
        self._heard_at = now
        self._announced = (time_us, datagram.came_at(now))
        return self._repeat_join(now)

    def _repeat_join(self, now: float) -> Sequence[Effect]:
        assert self.sender is not None
        self._retry_at = now + ANNOUNCE_S
        time_us, at = self._announced
        join = Join(self.number or 0, self.id, time_us, max(0, int((now - at) * 1e6)), int(now * 1e6))
        return (Send(encode_join(join), self.sender),)

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        if isinstance(packet, JoinAck) and self.state == "joining" and packet.receiver == self.id:
            if packet.reason is not Reason.NONE:
                return self._end(False, f"refused: {packet.reason.text}")
            self.state = "member"
            self._retry_at = None
            self._heard_at = now
            least = 0.0 if self.options.rules == "today" else LEAST_RTT_S
            at = datagram.came_at(now)
            rtt = max(at - packet.echo_time_us * 1e-6, least)
            self.path.round_trip.measure(rtt, at, packet.time_us * 1e-6, is_clr=False)
            self._status_at = now + STATUS_S
            return (SessionStarted(self.sender),)
        if isinstance(packet, Announce | JoinAck):
            return ()
        if isinstance(packet, MemberFin) and packet.answer and self.state == "confirming":
            return self._end_as_confirmed()
        if isinstance(packet, Abort) and self.state == "confirming":
            return self._end_as_confirmed()  # nothing is missing but the receipt
        return super()._control(packet, datagram, now)

    def _stream_ends(self, length: int, now: float) -> None:
        """A file's blocks say where it ends."""
        self.counters["drop_unexpected"] += 1

    # --- blocks

    def _deliver(self, seq: int, packet: Data, at: float, now: float, effects: list[Effect]) -> None:
        if self._take(seq, packet.payload, len(packet.payload), effects):
            self._go_on(now, effects)

    def _deliver_run(
        self, seq: int, packet: Data, payload: bytes, at: float, now: float, effects: list[Effect]
    ) -> None:
        size = len(packet.payload)
        for before, part in following(payload, size):
            self._take(seq + before + len(part) // size - 1, part, size, effects)
        self._go_on(now, effects)

    def _take(self, seq: int, payload: bytes, size: int, effects: list[Effect]) -> bool:
        """Pieces that follow each other, each of `size` bytes, of which the last came in packet `seq`; whether they can
        be a sender's."""
        try:
            piece = parse_piece(payload[:size])
            self._seq = max(self._seq, seq)
            if size < len(payload):
                self._blocks.take_run(piece, payload, size)
            else:
                self._blocks.take(piece)
        except (PacketError, ValueError):
            self.counters["drop_block"] += 1
            return False
        if piece.packet and not self.has_data:
            effects += self.first_data(len(payload))
        return True

    def _go_on(self, now: float, effects: list[Effect]) -> None:
        """Hand over what is whole, and say by and by what is lacking: when all is done that may make blocks whole."""
        blocks = self._blocks
        if work := blocks.take_work():
            effects += work
            return
        if blocks.deliver(effects):
            self._status_at = min(self._status_at or now, now + self.rtt / 2)
        if blocks.next < blocks.passed and self.state == "member":
            # Something is lost: say so within a round trip time, not all at once, and not before it can have come.
            due = max(now + self._rng.random() * self.rtt / 2, self._told_at + 1.5 * self.rtt)
            self._status_at = due if self._status_at is None else min(self._status_at, due)

    def computed(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        self._blocks.settle()
        self._go_on(now, effects)
        return effects

    def _status(self, now: float) -> Sequence[Effect]:
        assert self.sender is not None
        needs = self._blocks.needs()
        self._told_at = now
        self._status_at = now + (max(1.5 * self.rtt, LEAST_RTT_S) if needs else STATUS_S)
        self.counters["block_reports"] += 1
        status = BlockStatus(self.number or 0, self.id, self._seq, self._blocks.free, tuple(needs))
        return (Send(encode_status(status), self.sender),)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        times = (super().wake_at, self._status_at if self.state == "member" else None, self._retry_at)
        return None if self.closed else min((at for at in times if at is not None), default=None)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.closed:
            return ()
        if self._retry_at is not None and now >= self._retry_at:
            if self.state == "confirming":
                return self._repeat_fin(now)
            if self.state == "joining":
                if now >= self._heard_at + self.options.silence_s:
                    return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
                return self._repeat_join(now)
        effects = list(super().handle_timer(now=now))
        if self.state == "member" and self._status_at is not None and now >= self._status_at:
            effects += self._status(now)
        return effects

    def _repeat_fin(self, now: float) -> Sequence[Effect]:
        if self._tries == FIN_TRIES or self.sender is None:
            return self._end_as_confirmed()
        self._tries += 1
        self._retry_at = now + ANNOUNCE_S
        return (Send(encode_fin(MemberFin(self.number or 0, False, *self._verdict, self.id)), self.sender),)

    def _end_as_confirmed(self) -> list[Effect]:
        complete, reason = self._verdict
        return self._end(complete, "" if complete else reason.text)

    def sample(self, *, now: float) -> Sample:
        return {**super().sample(now=now), "received_bytes": self._blocks.delivered_bytes}
