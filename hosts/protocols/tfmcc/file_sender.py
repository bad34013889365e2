"""Files over TFMCC: the sender knows its receivers, and sends RaptorQ symbols until each has enough (ours).

It announces itself until enough have joined, which also measures everybody's round trip time; sends each block's source
symbols once; then, of the blocks of which somebody lacks packets, as many new symbols as the neediest lacks.
"""

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
)
from hosts.parts.fec.block import BlockEncoder, symbol_bytes
from hosts.protocol import Session
from hosts.protocols.tfmcc.blocks import PAYLOAD, BlockStatus, Piece, encode_piece, is_blocks, parse_status
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    Fin,
    Join,
    JoinAck,
    Packet,
    Report,
    encode_abort,
    encode_announce,
    encode_fin,
    encode_join_ack,
    parse,
)
from hosts.protocols.tfmcc.sender import HEARTBEAT_S, TfmccSender
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason
from hosts.wire.seq import extend

BLOCK_SYMBOLS: Final = 256
"""Of a full block: a third of a second at 10 Mbit/s (ours)."""
OPEN_BLOCKS: Final = 24
"""Blocks that somebody still lacks, at most: the receivers' and the sender's buffer (ours)."""
MOST_RECEIVERS: Final = 1 << 16
"""Of one session, those that are through included (ours)."""
MOST_EXPANSION: Final = 8
"""Distinct symbols of a block in source symbols; then they are sent again (ours). They are all in memory."""
LEAST_RTT_S: Final = 0.005
"""Times of ordinary machines below this are noise (ours)."""
LEAST_HEARTBEAT_S: Final = 0.02
ANNOUNCE_S: Final = 0.25
LINGER_S: Final = 0.5
"""After the last confirmation the sender stays this long to answer repeated ones (ours: two FIN retries)."""


@dataclass(slots=True)
class Member:
    """A receiver. Times in seconds on the sender's clock."""

    address: Address
    heard_at: float
    progress_at: float
    rtt: float
    delivered: int = 0
    """Blocks that its application has, in order."""
    feedback: int = 0


@dataclass(slots=True)
class _Block:
    number: int
    offset: int
    encoder: BlockEncoder
    last: bool
    wanted: int = 0
    """Repair packets to send."""
    repairs: deque[int] = field(default_factory=deque)
    """Sequence numbers of the repair packets that were sent."""


class TfmccFileSender(TfmccSender):
    """States: waiting (for receivers), sending, closing, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self.members: dict[int, Member] = {}
        self.ended: dict[Address, tuple[str, str, Member]] = {}
        """Receivers that are through: state, reason."""
        self._symbol = symbol_bytes(options.payload_bytes - PAYLOAD.size)
        self._block_bytes = BLOCK_SYMBOLS * self._symbol
        self._blocks: dict[int, _Block] = {}
        self._made = 0  # blocks
        self._made_bytes = 0
        self._passed = 0  # blocks whose source symbols have all been sent
        self._ends: list[int] = []  # stream offset of each block's end
        self._all_made = False
        self._wait_until = 0.0
        self._announce_at = 0.0
        self._closing_at: float | None = None

    # --- the application's side

    @property
    def send_space(self) -> int:
        if self._finishing or self.state in ("closing", "closed") or len(self._blocks) >= OPEN_BLOCKS:
            return 0
        return self._block_bytes - len(self._unsent)

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        if len(data) > self.send_space:
            raise ValueError(f"write of {len(data)} bytes where send_space is {self.send_space}")
        self._unsent += data
        if len(self._unsent) == self._block_bytes:
            self._make_block(last=False)
        return self._transmit(now)

    def finish(self, *, now: float) -> Sequence[Effect]:
        if not self._finishing:
            self._finishing = True
            self._make_block(last=True)
        return self._transmit(now)

    def _make_block(self, *, last: bool) -> None:
        """What waits becomes a block; the last one has at least a byte, so that there is a last one."""
        data = bytes(self._unsent) or b"\0"
        size = len(self._unsent)
        self._unsent.clear()
        # An empty last block's byte is none of the stream's: its offset is the stream's end.
        self._blocks[self._made] = _Block(self._made, self._made_bytes, BlockEncoder(data, self._symbol), last)
        self._made += 1
        self._made_bytes += size
        self._ends.append(self._made_bytes)
        self._all_made = last

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return self._begin(now) if self.state == "waiting" and self.members else ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        packet = encode_abort(self.number, Reason.INTERRUPTED)
        told = [Send(packet, member.address) for member in self.members.values()]
        return [] if self.closed else [*told, *super().close(now=now, reason=reason)]

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._now = now
        self._wait_until = now + self.session.wait
        self._announce_at = now
        return self.handle_timer(now=now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._now = now
        try:
            if is_blocks(datagram.data):
                return self._status(parse_status(datagram.data), datagram.source, now)
            packet = parse(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        if packet.session == self.number and not self.closed:
            if isinstance(packet, Join):
                return self._join(packet, datagram, now)
            if isinstance(packet, Fin) and not packet.answer:
                return self._fin(packet, datagram.source, now)
            if isinstance(packet, Report):
                member = self._member(packet.receiver, datagram.source)
                if member is None:
                    return ()
                member.heard_at = now
                member.feedback += 1
        return super().receive(datagram, now=now)

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        self.counters["drop_unexpected"] += 1
        return ()

    def _member(self, receiver: int, source: Address) -> Member | None:
        member = self.members.get(receiver)
        if member is None:
            self.counters["drop_late" if source in self.ended else "drop_stranger"] += 1
        elif member.address != source:
            self.counters["drop_forged"] += 1
            return None
        return member

    # --- who takes part

    def _join(self, packet: Join, datagram: Datagram, now: float) -> Sequence[Effect]:
        source = datagram.source
        known = self.members.get(packet.receiver)
        reason = Reason.NONE
        if known is None and (self.state != "waiting" or source in self.ended):
            reason = Reason.STARTED
        elif known is None and len(self.members) + len(self.ended) >= MOST_RECEIVERS:
            reason = Reason.FULL
        elif known is not None and known.address != source:
            self.counters["drop_forged"] += 1
            return ()
        answer = JoinAck(self.number, reason, packet.receiver, packet.time_us, int(now * 1e6))
        effects: list[Effect] = [Send(encode_join_ack(answer), source)]
        if reason is not Reason.NONE:
            self.counters["refused"] += 1
            return [*effects, PeerRefused(source, reason.text)]
        if known is not None:
            return effects
        at = datagram.came_at(now)
        rtt = at - packet.echo_time_us * 1e-6 - packet.held_us * 1e-6
        if not 0 <= rtt <= self.options.largest_rtt_s:
            rtt = self.options.initial_rtt
        self.members[packet.receiver] = Member(source, now, now, max(rtt, LEAST_RTT_S))
        effects.append(PeerJoined(source))
        if len(self.members) >= self.session.receivers:
            effects += self._begin(now)
        return effects

    def _begin(self, now: float) -> list[Effect]:
        """Everybody's round trip time is known: slowstart begins with it."""
        self.state = "sending"
        self.detail = ""
        self.steering.know_rtts(max(member.rtt for member in self.members.values()))
        self._begin_data(now)
        for member in self.members.values():
            member.heard_at = member.progress_at = now
        return [SessionStarted(), *self._transmit(now)]

    def _fin(self, packet: Fin, source: Address, now: float) -> Sequence[Effect]:
        if packet.receiver not in self.members and source not in self.ended:
            self.counters["drop_stranger"] += 1
            return ()
        effects: list[Effect] = [Send(encode_fin(packet._replace(answer=True)), source)]
        member = self.members.get(packet.receiver)
        if member is not None and member.address == source:
            complete = packet.complete and self._all_made
            reason = packet.reason if complete == packet.complete else Reason.BROKEN_STREAM
            effects += self._remove(packet.receiver, "complete" if complete else "left", reason, now)
        return effects

    def _remove(self, receiver: int, state: str, reason: Reason, now: float) -> list[Effect]:
        """A receiver is through; what it held back goes on."""
        member = self.members.pop(receiver)
        text = "" if state == "complete" else reason.text
        if state == "complete":
            member.delivered = self._made
        self.ended[member.address] = (state, text, member)
        self._left(receiver, now)
        self._free_blocks()
        dropped = state == "lost"
        effects: list[Effect] = [
            PeerDropped(member.address, text) if dropped else PeerFinished(member.address, state == "complete", text)
        ]
        if not self.members and self.state == "sending":
            self.state = "closing"
            self._closing_at = now + LINGER_S
        return effects

    # --- blocks

    def _status(self, status: BlockStatus, source: Address, now: float) -> Sequence[Effect]:
        if status.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        member = self._member(status.receiver, source)
        if member is None or self.state != "sending":
            return ()
        self.counters["feedback_packets"] += 1
        member.heard_at = now
        member.feedback += 1
        if member.delivered < status.delivered <= self._passed:
            member.delivered = status.delivered
            member.progress_at = now
            self._free_blocks()
        seen = extend(status.seq, self.seq)
        for number, packets in status.needs:
            block = self._blocks.get(number)
            if block is None or number >= self._passed:
                continue
            while block.repairs and block.repairs[0] <= seen:
                block.repairs.popleft()
            # What it has not seen yet may be all that it needs.
            wanted = min(packets, block.encoder.source_symbols) - len(block.repairs)
            block.wanted = max(block.wanted, wanted)
        return self._transmit(now)

    def _free_blocks(self) -> None:
        least = min((member.delivered for member in self.members.values()), default=self._made)
        for number in [number for number in self._blocks if number < least]:
            del self._blocks[number]

    @property
    def _has_payload(self) -> bool:
        return self._passed < self._made or any(block.wanted > 0 for block in self._blocks.values())

    def _next_payload(self) -> tuple[bytes, int]:
        for block in self._blocks.values():
            if block.wanted > 0:
                block.wanted -= 1
                block.repairs.append(self.seq)
                self.counters["repair_packets"] += 1
                return self._piece(block), 0
            if block.number == self._passed:
                piece = self._piece(block)
                if block.encoder.sent == block.encoder.source_symbols:
                    self._passed += 1
                return piece, 0
        return encode_piece(Piece(0, 0, False, self._passed, b"")), 0

    def _piece(self, block: _Block) -> bytes:
        if block.encoder.sent >= MOST_EXPANSION * block.encoder.source_symbols:
            block.encoder.rewind()
        packet = block.encoder.next_packet()
        done = block.encoder.sent >= block.encoder.source_symbols and block.number == self._passed
        passed = self._passed + 1 if done else self._passed
        length = block.encoder.length if self._ends[block.number] > block.offset else 0
        return encode_piece(Piece(block.number, length, block.last, passed, packet))

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "waiting":
            return min(self._announce_at, self._wait_until)
        if self.state == "closing":
            return self._closing_at
        return super().wake_at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "waiting":
            return self._wait(now)
        if self.state == "closing":
            return [self._end()] if self._closing_at is not None and now >= self._closing_at else []
        effects: list[Effect] = []
        for receiver, member in list(self.members.items()):
            silent = now > member.heard_at + self.options.drop_after_s
            stalled = member.delivered < self._passed and now > member.progress_at + self.options.drop_after_s
            if silent or stalled:
                reason = Reason.SILENT if silent else Reason.STALLED
                effects.append(Send(encode_abort(self.number, reason), member.address))
                effects += self._remove(receiver, "lost", reason, now)
        waits_for_needs = self._passed == self._made
        self._heartbeat_s = max(self.steering.rounds.max_rtt, LEAST_HEARTBEAT_S) if waits_for_needs else HEARTBEAT_S
        return [*effects, *self._transmit(now)]

    def _wait(self, now: float) -> list[Effect]:
        self.detail = f"{len(self.members)} of {self.session.receivers} receivers have joined"
        if now >= self._wait_until:
            if self.members:
                return self._begin(now)
            return list(self.close(now=now, reason=f"no receiver joined within {self.session.wait:g} s"))
        if now >= self._announce_at:
            self._announce_at = now + ANNOUNCE_S
            return [Send(encode_announce(self.number, int(now * 1e6)), self.session.group)]
        return []

    def _end(self) -> SessionEnded:
        self.state = "closed"
        failed = [f"{address}: {reason}" for address, (state, reason, _) in self.ended.items() if state != "complete"]
        self.detail = "; ".join(failed)
        if not self._all_made:
            self.detail = "no receiver is left" + (f" ({self.detail})" if failed else "")
        return SessionEnded(not failed and self._all_made, self.detail)

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        rows = {member.address.host: self._row(member, "active", now) for member in self.members.values()}
        for address, (state, _, member) in self.ended.items():
            rows[address.host] = self._row(member, state, now)
        sent = self._ends[self._passed - 1] if self._passed else 0
        return {
            **super().sample(now=now),
            "state": self.state,
            "sent_bytes": sent,
            "acked_bytes": min((self._acked(member) for member in self.members.values()), default=sent),
            "repair_packets": self.counters["repair_packets"],
            "receivers": rows,
        }

    def _acked(self, member: Member) -> int:
        return self._ends[member.delivered - 1] if member.delivered else 0

    def _row(self, member: Member, state: str, now: float) -> dict[str, object]:
        return {
            "acked_bytes": self._acked(member),
            "rtt_s": member.rtt,
            "feedback_packets": member.feedback,
            "last_heard_s": now - member.heard_at,
            "state": state,
        }
