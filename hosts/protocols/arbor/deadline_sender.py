"""Real-time data with a deadline: the sender. Each block of packets is followed by as many repairs as the losses of the
worst receiver call for, and by more when one asks and there is time.
"""

import random
from collections import deque
from collections.abc import Sequence
from math import ceil, inf
from typing import Final

from hosts.endpoint import Address, Effect
from hosts.parts.fec.block import BlockEncoder
from hosts.parts.fec.timed import Timed, to_symbol
from hosts.protocol import Session
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FLAG_END, FLAG_REPAIRED, Blocks, Packet
from hosts.protocols.arbor.repairs import BLOCK_PART, MOST_PACKETS, most_data, of_stream, repair, symbol_size, unasked
from hosts.protocols.arbor.sender import ArborSender
from hosts.wire.seq import extend

FIRST_LOSS: Final = 0.02
"""Is taken for what everybody loses until they have said (ours)."""
LEAST_PACKETS: Final = 100
"""Between two words of a receiver, of which a loss rate is believed (ours)."""
LOSS_GAIN: Final = 1 / 4
"""Of a word, in a receiver's loss rate (ours)."""
STEP: Final = 200
"""Loss rates are rounded up to the next of so many parts, but for what is hardly one (ours)."""


class _Block:
    """One whose packets have been sent."""

    __slots__ = ("count", "encoder", "first", "sent", "until", "wanted")

    def __init__(self, first: int, symbols: Sequence[bytes], until: float) -> None:
        self.first = first
        self.count = len(symbols)
        self.until = until  # later repairs come too late
        self.encoder = BlockEncoder(b"".join(symbols), len(symbols[0]), MOST_PACKETS)
        for _ in symbols:
            self.encoder.next_packet()
        self.sent: deque[int] = deque()  # sequence numbers of repairs that those that ask may not have seen
        self.wanted = 0


class DeadlineSender(ArborSender):
    """States: waiting (for `start`), sending, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._symbol = symbol_size(options.payload_bytes)
        self._most = most_data(options.payload_bytes)
        self._number = 0  # of the stream's next packet
        self._made: list[bytes] = []  # symbols of the block that is not complete
        self._closes_at = inf  # that block
        self._over_at = inf  # once the stream has ended: nobody can ask for anything any more
        self._blocks: deque[_Block] = deque()
        self._owing: deque[_Block] = deque()  # those of which repairs are to be sent
        self._taken = 0  # bytes of the stream in the packet that leaves
        self._words: dict[int, tuple[int, int, float]] = {}  # receiver: newest packet, lost so far, loss rate

    # --- data

    @property
    def _has_payload(self) -> bool:
        return bool(self._unsent) or bool(self._owing) or (self._finishing and self._now >= self._over_at)

    def _next_payloads(self, most: int) -> bytes:
        return b""  # each packet has a number of its own in its payload

    def _next_payload(self) -> tuple[bytes, int]:
        self._taken = 0
        if self._owing:
            return self._repair(), FLAG_REPAIRED
        if self._unsent:
            data = self._unsent.take(self._most)
            self._taken = len(data)
            self._made.append(to_symbol(Timed(self.sent_bytes, int(self._now * 1e6), data), self._symbol))
            payload = of_stream(self._number, data)
            self._number += 1
            if len(self._made) == 1:
                self._closes_at = self._now + BLOCK_PART * self.options.deadline_s
            if len(self._made) == MOST_PACKETS:
                self._close_block(self._now)
            return payload, FLAG_REPAIRED
        if self._finishing and self._now >= self._over_at:
            self._ends_left -= 1
            return b"", FLAG_END
        return b"", 0

    def _send_data(self, encoded: bytes, payload_bytes: int, ecn: int, effects: list[Effect]) -> None:
        super()._send_data(encoded, self._taken, ecn, effects)

    def _transmit(self, now: float) -> list[Effect]:
        self._now = now
        effects = super()._transmit(now)
        if self._finishing and not self._unsent and self._over_at == inf:
            self._over_at = now + self.options.deadline_s
            self._close_block(now)
            effects += super()._transmit(now)
        return effects

    # --- repairs

    @property
    def loss(self) -> float:
        """Of the receiver that loses most; rounded, so that it is one of few numbers."""
        worst = max((rate for _, _, rate in self._words.values()), default=FIRST_LOSS)
        return 0.0 if worst < 0.5 / STEP else ceil(worst * STEP) / STEP

    def _close_block(self, now: float) -> None:
        self._closes_at = inf
        if not self._made:
            return
        first = self._number - len(self._made)
        # The last packet's deadline; the first one's may be over before.
        block = _Block(first, self._made, now + self.options.deadline_s)
        self._made = []
        while self._blocks and self._blocks[0].until <= now:
            self._blocks.popleft()
        self._blocks.append(block)
        self._owe(block, unasked(block.count, self.loss))

    def _owe(self, block: _Block, repairs: int) -> None:
        repairs = min(repairs, block.count)
        if repairs > block.wanted:
            if not block.wanted:
                self._owing.append(block)
            block.wanted = repairs

    def _repair(self) -> bytes:
        block = self._owing[0]
        block.wanted -= 1
        if not block.wanted:
            self._owing.popleft()
        block.sent.append(self.seq)
        self.counters["repair_packets"] += 1
        return repair(block.first, block.count, block.wanted, block.encoder.next_packet())

    def _other(self, packet: Packet, source: Address, now: float) -> Sequence[Effect]:
        if not isinstance(packet, Blocks):
            return super()._other(packet, source, now)
        if not self._knows(packet.receiver, source, now):
            return ()
        self.counters["feedback_packets"] += 1
        seq = extend(packet.seq, self.seq)
        if not 0 <= seq < self.seq:
            self.counters["drop_forged"] += 1
            return ()
        self._told(packet.receiver, seq, packet.delivered)
        for number, packets in packet.needs:
            self._asked(extend(number, self._number), packets, seq, now)
        return self._transmit(now)

    def _told(self, receiver: int, seq: int, lost: int) -> None:
        """What a receiver has lost so far."""
        before = self._words.get(receiver)
        if before is None:
            self._words[receiver] = (seq, lost, FIRST_LOSS)
        elif seq - before[0] >= LEAST_PACKETS and 0 <= lost - before[1] <= seq - before[0]:
            rate = before[2] + LOSS_GAIN * ((lost - before[1]) / (seq - before[0]) - before[2])
            self._words[receiver] = (seq, lost, rate)

    def _asked(self, number: int, packets: int, seen: int, now: float) -> None:
        """A receiver that has seen packet `seen` lacks so many of the block that has this packet of the stream."""
        block = next((one for one in self._blocks if one.first <= number < one.first + one.count), None)
        if block is None or now >= block.until:
            return
        while block.sent and block.sent[0] <= seen:
            block.sent.popleft()
        self._owe(block, packets - len(block.sent))

    def _left(self, receiver: int, now: float) -> None:
        super()._left(receiver, now)
        self._words.pop(receiver, None)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        at = super().wake_at
        if at is None:
            return None
        # What is over is sent by the pace.
        return min(at, self._closes_at, self._over_at if self._now < self._over_at else inf)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "sending" and now >= self._closes_at:
            self._close_block(now)
        if len(self._words) > len(self.members):
            self._words = {one: said for one, said in self._words.items() if one in self.members}
        return super().handle_timer(now=now)
