"""Real-time data with FEC over a window of time: whoever gets as many packets as the stream has, has the stream.

The packets of the stream that leave within a window are the source symbols of an ALC object of one RaptorQ block
(RFC 6330; `hosts.parts.fec.timed`). They leave when the application has them. Until the next window is over, all
packets that the stream does not take are repair symbols of this one, with its EXT_FTI, on all channels alike: of each
window a receiver gets the same share of symbols as of packets, whichever channels it has joined, and with a rate that
is above the stream's it has enough. Nobody asks for anything.

An object's TOI is the number of its first packet in the stream, which counts from 1; a packet's number is the TOI and
its encoding symbol id.
"""

from math import inf
from typing import Final, NamedTuple

from hosts.endpoint import DeliverDatagram
from hosts.parts.fec.block import (
    MAX_ESI,
    PAYLOAD_ID_BYTES,
    REPAIRS_AT_ONCE,
    SYMBOL_ALIGNMENT,
    BlockDecoder,
    BlockEncoder,
)
from hosts.parts.fec.timed import Timed, most_data, of_symbol, to_symbol
from hosts.parts.unsent import Unsent
from hosts.protocols.webrc.flute.transmission import RAPTORQ, Transmission
from hosts.protocols.webrc.packets import Alc
from hosts.wire.header import PacketError
from hosts.wire.seq import MASK, extend

FTI_BYTES: Final = 16
"""Of EXT_FTI (RFC 6330, 3.3)."""
MOST_SYMBOLS: Final = 2048
"""Of a window, which ends with so many (ours): making its repair takes some 10 ms."""
MOST_OPEN: Final = 4
"""Windows that a receiver collects at a time (ours)."""
IDLE: Final = MAX_ESI
"""Encoding symbol id of packets that leave before the first window is over and have nothing of the stream."""
KEPT: Final = 2 * MOST_SYMBOLS
"""Packets of the stream that are remembered for their windows (ours)."""
_MICRO: Final = 1e-6


class Symbol(NamedTuple):
    """What a packet carries."""

    toi: int
    fti: bytes
    """EXT_FTI; empty: the window is not over."""
    payload_id: int
    data: bytes


class OutgoingWindows:
    """A sender's. `next_symbol` is called for each packet that leaves."""

    def __init__(self, payload_bytes: int, window_s: float) -> None:
        """`payload_bytes`: that a packet has room for, EXT_FTI included. ValueError: too few."""
        self._size = (payload_bytes - FTI_BYTES) // SYMBOL_ALIGNMENT * SYMBOL_ALIGNMENT
        self._window_s = window_s
        self.most_data = most_data(self._size)
        """Bytes of the stream in a packet."""
        if self.most_data <= 0:
            raise ValueError(f"{payload_bytes} bytes hold no symbol of a stream")
        self.sent_bytes = 0
        """Of the stream."""
        self.repairs = 0
        """Packets that were none of the stream's."""
        self._first = 1
        self._made: list[bytes] = []  # the window's symbols so far
        self._closes_at = inf
        self._closed_at = -inf
        self._before: tuple[int, bytes, BlockEncoder] | None = None  # the last window: TOI, EXT_FTI, repairs
        self._over_at = inf  # the stream has ended, and these repairs are sent until then
        self._was_stream = False

    def next_symbol(self, unsent: Unsent, now: float, *, is_last: bool) -> Symbol:
        """Of the next packet, which takes what the application has: every second one is the stream's, at most.
        `is_last`: nothing will follow."""
        waiting = len(unsent)
        is_due = now >= self._closes_at
        if is_due and 0 < waiting < self.most_data:
            symbol = self._source(unsent, now)
            self._close(now)
            return symbol
        if is_due:
            self._close(now)
        if is_last and not waiting and not self._made and self._over_at == inf:
            self._over_at = max(now, self._closed_at + self._window_s)
        if waiting >= self.most_data and not (self._was_stream and self._before is not None):
            return self._source(unsent, now)
        if waiting and self._closes_at == inf:
            self._closes_at = now + self._window_s
        return self._repair()

    def is_over(self, now: float) -> bool:
        """Whether the stream has ended, and the repairs of its last window have been sent."""
        return now >= self._over_at

    def _source(self, unsent: Unsent, now: float) -> Symbol:
        self._was_stream = True
        if self._closes_at == inf:
            self._closes_at = now + self._window_s
        data = unsent.take(self.most_data)
        symbol = to_symbol(Timed(self.sent_bytes, int(now / _MICRO), data), self._size)
        self.sent_bytes += len(data)
        self._made.append(symbol)
        found = Symbol(self._first & MASK, b"", len(self._made) - 1, symbol)
        if len(self._made) == MOST_SYMBOLS:
            self._close(now)
        return found

    def _repair(self) -> Symbol:
        self._was_stream = False
        if self._before is None:
            return Symbol(self._first & MASK, b"", IDLE, bytes(self._size))
        self.repairs += 1
        toi, fti, encoder = self._before
        if encoder.sent >= IDLE - REPAIRS_AT_ONCE:
            encoder.rewind()
        packet = encoder.next_packet()
        return Symbol(toi, fti, int.from_bytes(packet[:PAYLOAD_ID_BYTES], "big"), packet[PAYLOAD_ID_BYTES:])

    def _close(self, now: float) -> None:
        """The window is over: its repairs follow."""
        self._closes_at, self._closed_at = inf, now
        if not self._made:
            return
        encoder = BlockEncoder(b"".join(self._made), self._size, MOST_SYMBOLS)
        for _ in self._made:
            encoder.next_packet()
        self._before = self._first & MASK, _transmission(len(self._made), self._size).encode(), encoder
        self._first += len(self._made)
        self._first += not self._first & MASK  # TOI 0 is the FDT's
        self._made = []


class IncomingWindows:
    """A receiver's."""

    def __init__(self) -> None:
        self._symbols: dict[int, bytes] = {}  # of the stream, by their numbers, as they came
        self._first = self._highest = -1
        self._far = -1  # TOI of the last packet that was far from the others
        self._open: dict[int, BlockDecoder] = {}  # by their first packet's number, until they are whole
        self._whole: dict[int, None] = {}
        self.recovered = 0
        """Packets of the stream that came out of repairs."""

    def take(self, packet: Alc, at: float) -> list[DeliverDatagram]:
        """A packet's symbol; what of the stream is known by it. PacketError: it can be no sender's."""
        esi = packet.payload_id
        if esi == IDLE:
            return []
        first = extend(packet.toi, self._highest) if self._first >= 0 else packet.toi
        if self._first >= 0 and abs(first - self._highest) > KEPT:
            first = self._jump(packet.toi)
        self._far = -1
        if not packet.fti:
            if esi >= MOST_SYMBOLS:
                raise PacketError("symbol")
            return self._add(first + esi, packet.symbol, at)
        transmission = Transmission.parse(RAPTORQ, packet.fti)
        if not 0 <= self._first < first + transmission.symbols or first in self._whole:
            return []
        if transmission.symbol != len(packet.symbol):
            raise PacketError("symbol")  # before there is memory for such a block
        decoder = self._open.get(first)
        if decoder is None:
            decoder = self._begin(first, transmission)
        if decoder.length != transmission.length:
            raise PacketError("fti")
        decoder.add(esi.to_bytes(PAYLOAD_ID_BYTES, "big") + packet.symbol)
        return self._complete(first, decoder, at)

    def _jump(self, toi: int) -> int:
        """After a long silence the stream is elsewhere: begin again there, if the packet before said so, too.
        PacketError: it did not."""
        before, self._far = self._far, toi
        if before < 0 or abs(toi - before) > KEPT:
            raise PacketError("symbol")
        self._symbols.clear()
        self._open.clear()
        self._whole.clear()
        self._first = self._highest = self._far = -1
        return toi

    def _begin(self, first: int, transmission: Transmission) -> BlockDecoder:
        """A window that is over. PacketError: there is none like that."""
        size, symbols = transmission.symbol, transmission.symbols
        is_ours = 0 < symbols <= MOST_SYMBOLS and size % SYMBOL_ALIGNMENT == 0
        if not is_ours or transmission != _transmission(symbols, size):
            raise PacketError("fti")
        decoder = self._open[first] = BlockDecoder(transmission.length, size, MOST_SYMBOLS)
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]
        for esi in range(symbols):
            if first + esi in self._symbols:
                decoder.add(esi.to_bytes(PAYLOAD_ID_BYTES, "big") + self._symbols[first + esi])
        return decoder

    def _add(self, number: int, symbol: bytes, at: float) -> list[DeliverDatagram]:
        """A packet of the stream, by itself or out of repairs."""
        # What was sent before the receiver came is not its own.
        if number in self._symbols or number < max(self._first, self._highest - KEPT):
            return []
        packet = of_symbol(symbol)
        if self._first < 0:
            self._first = number
        self._highest = max(self._highest, number)
        self._symbols[number] = symbol
        if len(self._symbols) > KEPT:
            del self._symbols[next(iter(self._symbols))]
        return [DeliverDatagram(number, packet.offset, packet.data, packet.send_time_us * _MICRO, at)]

    def _complete(self, first: int, decoder: BlockDecoder, at: float) -> list[DeliverDatagram]:
        """What was lacking, if the window is whole now."""
        decoder.solve()
        if decoder.data is None:
            return []
        del self._open[first]
        size = decoder.length // decoder.source_symbols
        self._whole[first] = None
        if len(self._whole) > MOST_OPEN:
            del self._whole[next(iter(self._whole))]
        found: list[DeliverDatagram] = []
        for esi in range(decoder.source_symbols):
            found += self._add(first + esi, decoder.data[esi * size : (esi + 1) * size], at)
        self.recovered += len(found)
        return found


def _transmission(symbols: int, size: int) -> Transmission:
    """Of a window of so many symbols. ValueError: there is none like that."""
    return Transmission(RAPTORQ, symbols * size, size, z=1, al=SYMBOL_ALIGNMENT)
