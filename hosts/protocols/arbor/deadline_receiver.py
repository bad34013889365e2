"""Real-time data with a deadline: the receiver. What is lost comes out of repairs; what these lack is asked for."""

import random
from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

from hosts.endpoint import DeliverDatagram, Effect, Send
from hosts.parts.fec.block import PAYLOAD_ID_BYTES, BlockDecoder
from hosts.parts.fec.timed import Timed, of_symbol, to_symbol
from hosts.parts.spread import spread_rtts
from hosts.protocol import Session
from hosts.protocols.arbor.lacking import ANSWERED_RTTS, turn_s
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FLAG_REPAIRED, AnyData, Blocks, encode_blocks
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.repairs import BLOCK_PART, HEAD, MOST_PACKETS, Head, parse_head, symbol_size
from hosts.wire.header import PacketError
from hosts.wire.seq import extend
from hosts.wire.units import MAX_U32

KEPT: Final = 4 * MOST_PACKETS
"""Packets of the stream that are remembered for their blocks (ours)."""
MOST_OPEN: Final = 8
"""Blocks that are collected at a time (ours)."""
_MICRO: Final = 1e-6


class _Open(NamedTuple):
    """A block with a repair that lacks something, and until when that is worth asking for."""

    decoder: BlockDecoder
    until: float

    @property
    def packets(self) -> int:
        return self.decoder.source_symbols


class DeadlineReceiver(ArborReceiver):
    """States: listening (for data), member, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._delivers = True
        self._size = symbol_size(options.payload_bytes)
        self._first = -1  # number of the first packet of the stream that came
        self._highest = -1  # and of the newest one
        self._symbols: dict[int, bytes] = {}  # by their numbers, as they came
        self._open: dict[int, _Open] = {}  # by their first packet's number
        self._lacking: dict[int, float] = {}  # packets of the stream, and until when it is worth while to ask for them
        self._ask_at = inf
        self._word_at = inf  # on what was lost

    @property
    def repaired_within_s(self) -> float:
        return self.options.deadline_s

    # --- what comes

    def _deliver(self, seq: int, packet: AnyData, at: float, now: float, effects: list[Effect]) -> None:
        self.received_bytes -= len(packet.payload)  # of which not all are the stream's
        try:
            if not packet.flags & FLAG_REPAIRED:
                raise PacketError("value")
            head = parse_head(packet.payload)
            number = extend(head.number, self._highest) if self._first >= 0 else head.number
            if number < 0 or (self._first >= 0 and abs(number - self._highest) > KEPT):
                raise PacketError("value")
            if head.packets:
                self._repair(number, head, packet.payload, at, now, effects)
            else:
                self._note_gap(number, now)
                came = Timed(packet.offset, packet.send_time_us, packet.payload[HEAD.size :])
                self._take(number, came, to_symbol(came, self._size), at, effects)
        except PacketError:
            self.counters["drop_block"] += 1
            return
        if self._word_at == inf and self.path.is_known:
            self._word_at = now + self._turn_s * self._rng.random()

    def _note_gap(self, number: int, now: float) -> None:
        """Packets before this one are missing. Repairs tell of them, if not all of these are lost, too."""
        if self._first < 0 or number <= self._highest + 1:
            return
        until = now + self.options.deadline_s
        self._lacking = {one: end for one, end in self._lacking.items() if now < end and one > number - KEPT}
        self._lacking |= dict.fromkeys(range(self._highest + 1, number), until)
        # The block's other packets, and its repairs, come first.
        wait = BLOCK_PART * self.options.deadline_s + self._round_trip * self._spread_rtts
        self._ask_at = min(self._ask_at, now + wait)

    def _take(self, number: int, packet: Timed, symbol: bytes, at: float, effects: list[Effect]) -> None:
        """A packet of the stream, by itself or out of repairs. PacketError: it is too long."""
        if len(symbol) != self._size:
            raise PacketError("value")
        symbols = self._symbols
        if number in symbols or number <= self._highest - KEPT:
            return
        symbols[number] = symbol
        self._lacking.pop(number, None)
        self._first = number if self._first < 0 else self._first
        self._highest = max(self._highest, number)
        if len(symbols) > KEPT:
            del symbols[next(iter(symbols))]
        self.received_bytes += len(packet.data)
        effects.append(DeliverDatagram(number, packet.offset, packet.data, packet.send_time_us * _MICRO, at))
        for first, block in list(self._open.items()):
            if first <= number < first + block.packets:
                self._add(first, number - first, symbol, at, effects)

    def _repair(self, first: int, head: Head, payload: bytes, at: float, now: float, effects: list[Effect]) -> None:
        numbers = range(first, first + head.packets)
        if first not in self._open:
            # What was sent before it came is not its own.
            is_own = 0 <= self._first <= first and first > self._highest - KEPT
            if not is_own or all(number in self._symbols for number in numbers):
                return
            decoder = BlockDecoder(head.packets * self._size, self._size, MOST_PACKETS)
            self._open[first] = _Open(decoder, now + self.options.deadline_s)
            if len(self._open) > MOST_OPEN:
                del self._open[next(iter(self._open))]
            for number in numbers:
                if number in self._symbols:
                    self._add(first, number - first, self._symbols[number], at, effects)
        block = self._open.get(first)
        if block is None or block.packets != head.packets:
            return
        block.decoder.add(payload[HEAD.size :])
        self._complete(first, at, effects)
        if first in self._open and head.coming == 0:
            self._ask_at = min(self._ask_at, now + self._round_trip * self._spread_rtts)

    def _add(self, first: int, esi: int, symbol: bytes, at: float, effects: list[Effect]) -> None:
        block = self._open.get(first)
        if block is not None:
            block.decoder.add(esi.to_bytes(PAYLOAD_ID_BYTES, "big") + symbol)
            self._complete(first, at, effects)

    def _complete(self, first: int, at: float, effects: list[Effect]) -> None:
        """Hand over what was lacking, if the block is whole."""
        block = self._open.get(first)
        if block is None:
            return
        block.decoder.solve()
        if block.decoder.data is None:
            return
        del self._open[first]
        for number in range(first, first + block.packets):
            if number not in self._symbols:
                begin = (number - first) * self._size
                symbol = block.decoder.data[begin : begin + self._size]
                self.counters["repaired"] += 1
                self._take(number, of_symbol(symbol), symbol, at, effects)

    # --- what it says

    @property
    def _receivers(self) -> int:
        return 1 if self._last is None else self._last.receivers

    @property
    def _round_trip(self) -> float:
        return self.options.deadline_s if self._last is None or not self.rtt else self._loop(self._last)

    @property
    def _turn_s(self) -> float:
        return turn_s(self._receivers, self._round_trip)

    @property
    def _spread_rtts(self) -> float:
        """Many may lack something; what is repaired for one is repaired for all."""
        others = 1 if self._last is None else self._others(self._last)
        return spread_rtts(self._rng, others, self.options.challenges_per_rtt)

    def _needs(self, now: float) -> tuple[tuple[int, int], ...]:
        """Packets of a block, and how many of it are lacking."""
        self._open = {first: block for first, block in self._open.items() if now < block.until}
        found = [(first, block.decoder.needed) for first, block in self._open.items()]
        known = {one for first, block in self._open.items() for one in range(first, first + block.packets)}
        begins = 0
        lacking = sorted(number for number, end in self._lacking.items() if now < end and number not in known)
        for place, number in enumerate(lacking):  # a run of them is of a block, or of two
            if place + 1 == len(lacking) or lacking[place + 1] != number + 1:
                found.append((lacking[begins], place + 1 - begins))
                begins = place + 1
        return tuple((number & MAX_U32, packets) for number, packets in found)

    def _word(self, needs: tuple[tuple[int, int], ...], now: float) -> Send:
        """What is lacking, and what was lost so far."""
        assert self.sender is not None
        self._word_at = now + self._turn_s * self._rng.uniform(0.75, 1)
        self.counters["block_reports"] += 1
        status = Blocks(self.number or 0, self.id, self.gaps.highest, self.gaps.lost_packets & MAX_U32, needs)
        return Send(encode_blocks(status), self.sender)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        at = super().wake_at
        return None if at is None else min(at, self._ask_at, self._word_at)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects = list(super().handle_timer(now=now))
        if not self._takes_part:
            return effects
        if now >= min(self._ask_at, self._word_at):
            needs = self._needs(now)
            if now >= self._ask_at:  # and again when an answer would have come
                self._ask_at = now + self._round_trip * (ANSWERED_RTTS + self._spread_rtts) if needs else inf
            if needs or now >= self._word_at:
                effects.append(self._word(needs, now))
        return effects

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self._ask_at = self._word_at = inf
        return super()._end(complete, reason)
