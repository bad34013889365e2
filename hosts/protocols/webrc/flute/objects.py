"""An object as symbols for receivers that get any part of what is sent.

A sender has the object on disk and at most two blocks in memory. RaptorQ's blocks are visited in turn, and during a
visit all channels send symbols of the one block, each of them new: whichever channels a receiver has joined, its
packets are spread over the blocks, so that all become whole at about the same time. The turns begin at another block
each time, so that a channel whose packets come as slowly as the turns meets all of them.

Without a code, and with Reed-Solomon's few repair symbols, what is sent comes again; each channel goes through the
object on its own, from a place of its own, so that a receiver of several channels gets little twice.

Either way a receiver has all blocks open until it is nearly through, and not every one has a disk for them. So an
object that is longer than `OPEN_BYTES` begins with an *ordered pass*, and comes back to one: from its first block to
its last, by all channels together, each with as many symbols as make it whole for who gets nearly all that is sent.
"""

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from hosts.parts.fec.block import SYMBOL_ALIGNMENT
from hosts.protocols.webrc.flute.coding import MOST_SENT, Encoders, finite_symbol, finite_symbols
from hosts.protocols.webrc.flute.transmission import MOST_RAPTORQ_BLOCKS, NO_CODE, RAPTORQ, REED_SOLOMON, Transmission
from hosts.storage import Readable

SCHEMES: Final = {"raptorq": RAPTORQ, "reed-solomon": REED_SOLOMON, "no-code": NO_CODE}
"""By the name that the parameter `fec` has for them."""
BLOCK_SYMBOLS: Final = 2048
"""Of one RaptorQ block as long as there are few enough of them (ours): coding one takes some 20 ms; the more blocks,
the more packets beyond K receivers need."""
MAX_BLOCK_SYMBOLS: Final = 8192
"""Of one RaptorQ block that is sent (ours): of the largest files."""
RS_SOURCE: Final = 64
RS_ENCODING: Final = 80
"""Reed-Solomon: source symbols of a block, and those with its repair (ours): a quarter more."""
MOST_RS_BLOCKS: Final = 1 << 23
"""What our receivers take of a session, and half of what the FEC Payload ID numbers (RFC 5510, 5.1)."""
NO_CODE_SYMBOLS: Final = 1024
"""Of a block without a code (ours): the most that a file of this size has to be cut for is 2^16 blocks."""
MOST_NO_CODE: Final = 2**16
AT_ONCE: Final = 32
"""Symbols that are read or made by one call (ours): a fraction of a millisecond."""
SYMBOLS_PER_S: Final = 40_000
"""For how many symbols a second of an encoder's visits is enough (ours): making one ready takes 2 to 5 microseconds a
symbol of its block, so that a visit that long makes it a tenth of the time."""
MOST_VISIT: Final = 0.5
"""Of a block's symbols that leave in one visit, at most (ours): what receivers need beyond K comes with a visit."""
RS_SECTION: Final = 64
"""Reed-Solomon: blocks whose symbols take turns (ours), so that a run of losses takes few of each."""
OPEN_BYTES: Final = 10_000_000
"""Of an object whose blocks may all be open at a time (ours): flute-alc, an independent receiver, gives up an object of
which more than 10 MiB are."""
SPARE: Final = 0.1
"""RaptorQ, of a block's source symbols: sent beyond them in an ordered pass (ours), for those that are lost."""
BETWEEN: Final = 3.0
"""Of an object, how often it is sent in the other order between two ordered passes (ours). An ordered pass costs a
receiver of, say, four fifths of the packets up to another one; who takes all waits for it so long."""
GOLDEN: Final = (5**0.5 - 1) / 2
"""Channels begin so far apart, of the whole: neighbours, and their neighbours, meet as late as can be."""


def plan(scheme: int, length: int, symbol: int) -> Transmission:
    """How an object of so many bytes is sent, in symbols of at most so many. One that is too long for RaptorQ's blocks
    is sent with Reed-Solomon's, of which there may be many more: each object has the scheme that its FDT
    and its packets' codepoint say (RFC 6726, 5). ValueError: it is too long."""
    if scheme == RAPTORQ:
        size = symbol // SYMBOL_ALIGNMENT * SYMBOL_ALIGNMENT
        if size <= 0:
            raise ValueError(f"{symbol} bytes hold no symbol")
        symbols = -(-length // size)
        blocks = max(min(-(-symbols // BLOCK_SYMBOLS), MOST_RAPTORQ_BLOCKS), -(-symbols // MAX_BLOCK_SYMBOLS))
        if blocks > MOST_RAPTORQ_BLOCKS:
            return plan(REED_SOLOMON, length, symbol)
        return Transmission(scheme, length, size, z=blocks, al=SYMBOL_ALIGNMENT)
    if scheme == REED_SOLOMON:
        most = MOST_RS_BLOCKS * RS_SOURCE * symbol
        if length > most:
            raise ValueError(f"it has {length} bytes, and in such packets at most {most} can be sent")
        return Transmission(scheme, length, symbol, RS_SOURCE, RS_ENCODING)
    most = max(NO_CODE_SYMBOLS, -(-length // (symbol * MOST_NO_CODE)))
    return Transmission(scheme, length, symbol, most)


class RaptorqObject:
    """A sender's object that never runs out of symbols."""

    def __init__(self, toi: int, data: Readable, transmission: Transmission, encoders: Encoders) -> None:
        self.transmission = transmission
        self._toi = toi
        self._data = data
        self._encoders = encoders
        for number in (0, transmission.blocks - 1):  # others have as many symbols as one of these
            encoders.prepare(transmission.source(number))
        self._sent = [0] * transmission.blocks  # symbols
        self._ordered = transmission.blocks if transmission.length > OPEN_BYTES else 0
        self._next = 0  # block of an ordered pass
        self._dwell = 0  # packets until an ordered pass goes on to it
        self._between = 0.0  # of the object, until the next ordered pass
        self._turn = 0
        self._planned = 0
        self._coming: tuple[int, int, int] | None = None
        """Block and packets of the visit after this one, and packets of its visits that follow at once."""
        self._number = 0
        self._left = 1
        self._longer = 0
        self._ready: list[bytes] = []
        """Symbols of the block that is visited."""
        self._ready_first = 0
        """FEC Payload ID of the first of these."""

    @property
    def pass_packets(self) -> int:
        """With which all of it has been sent once."""
        return sum(map(self._in_order, range(self._ordered))) or self.transmission.symbols

    def _in_order(self, number: int) -> int:
        """A block's packets in an ordered pass."""
        return math.ceil(self.transmission.source(number) * (1 + SPARE))

    def visit(self, share: float) -> int:
        """Go on to the next block; how many packets of it shall be sent, a share of its source symbols. While that one
        is made ready, the present visit goes on, for as many symbols more as the block has at most."""
        if self._coming is not None and self._longer > 0 and self._encoders.is_being_made(self._toi, self._coming[0]):
            more = min(self._longer, AT_ONCE)
            self._longer -= more
            self._left += more
            return more
        self._sent[self._number] -= len(self._ready)  # what was made of it, and did not leave
        self._ready = []
        self._number, self._left, _ = self._coming or self._plan(share)
        self._longer = self.transmission.source(self._number)
        self._coming = self._plan(share)
        return self._left

    def _plan(self, share: float) -> tuple[int, int, int]:
        """As `_coming`, after those that were planned before."""
        is_ordered = self._ordered and self._between <= 0.0
        if is_ordered and not self._dwell:
            self._planned = self._next
            self._dwell = self._in_order(self._planned)
            self._next = (self._next + 1) % self._ordered
        elif not is_ordered:
            blocks = self.transmission.blocks
            turns, at = divmod(self._turn, blocks)
            self._turn += 1
            self._planned = (at + int(turns * GOLDEN % 1 * blocks)) % blocks
        number = self._planned
        packets = max(1, int(self.transmission.source(number) * share))
        if is_ordered:
            if self._dwell < 1.5 * packets:  # a visit is short for an encoder to be made meanwhile
                packets = self._dwell
            self._dwell -= packets
            if not self._dwell and not self._next:
                self._between = BETWEEN
        else:
            self._between -= packets / self.transmission.symbols
        return number, packets, self._dwell if is_ordered else 0

    def ahead(self) -> Callable[[], object] | None:
        """What makes ready what the next visit takes, milliseconds in a thread; None: nothing, or it has begun. Raises
        FileError."""
        if self._coming is None:
            return None
        number, packets, more = self._coming
        before = self._sent[number] + (self._left if number == self._number else 0)
        if before + packets + more <= self.transmission.source(number):
            return None
        return self._encoders.ahead(self._toi, number, lambda: self._block(number), self.transmission.symbol)

    def _block(self, number: int) -> bytes:
        begin, end = self.transmission.block(number)
        return self._data.read(begin, end - begin)

    def next_packets(self, channel: int, most: int) -> tuple[int, list[bytes]]:
        """FEC Payload ID and symbol of the next packet, whatever its channel, and symbols that follow it, up to so many
        in all. Raises FileError."""
        if not self._ready:
            self._make()
        first, symbols = self._ready_first, self._ready[:most]
        del self._ready[:most]
        self._ready_first += len(symbols)
        self._left -= len(symbols)
        return first, symbols

    def _make(self) -> None:
        number, size = self._number, self.transmission.symbol
        first = self._sent[number] % MOST_SENT
        count = max(1, min(self._left, AT_ONCE, MOST_SENT - first))
        source = self.transmission.source(number)
        if first < source:
            begin, end = self.transmission.block(number)
            at = begin + first * size
            data = self._data.read(at, min(count * size, end - at))
            symbols = [data[at : at + size].ljust(size, b"\0") for at in range(0, len(data), size)]
        else:
            encoder = self._encoders.get(self._toi, number, lambda: self._block(number), size)
            symbols = encoder.repair(first - source, count)
        self._sent[number] = first + len(symbols)
        self._ready, self._ready_first = symbols, self.transmission.payload_id(number, first)


class FiniteObject:
    """A sender's object of so many symbols, which each channel goes through from a place of its own: block by block, or
    with Reed-Solomon section by section, and in a section through its blocks in turn; all channels together in an
    ordered pass."""

    def __init__(self, data: Readable, transmission: Transmission) -> None:
        self.transmission = transmission
        self._data = data
        block_bytes = transmission.largest_block * transmission.symbol
        most_together = max(1, min(RS_SECTION, OPEN_BYTES // 2 // block_bytes))
        self._together = most_together if transmission.scheme == REED_SOLOMON else 1
        self._most = finite_symbols(transmission, transmission.largest_block)
        self._whole = self._most * transmission.blocks
        self._ordered = self._whole if transmission.length > OPEN_BYTES else 0
        self._cycle = self._ordered + int(BETWEEN * self._whole)
        self._sent = 0
        self._turns: dict[int, int] = {}

    @property
    def pass_packets(self) -> int:
        """With which all of it has been sent once."""
        return self._ordered or self.transmission.symbols

    def visit(self, share: float) -> int:
        """How many packets shall be sent before other objects have their turn."""
        return max(1, int(self.transmission.largest_block * share))

    def ahead(self) -> None:
        """Nothing has to be made before it is asked for."""

    def next_packets(self, channel: int, most: int) -> tuple[int, list[bytes]]:
        """FEC Payload ID and symbol of the channel's next packet: one, whatever `most` is. Raises FileError."""
        while True:
            if self._sent < self._ordered:
                turn = self._sent
            else:
                turn = self._turns.setdefault(channel, int(channel * GOLDEN % 1 * self._whole))
                self._turns[channel] = (turn + 1) % self._whole
            self._sent = (self._sent + 1) % self._cycle
            section, at = divmod(turn, self._together * self._most)
            first = section * self._together
            symbol, number = divmod(at, min(self._together, self.transmission.blocks - first))
            source = self.transmission.source(first + number)
            if symbol < finite_symbols(self.transmission, source):  # some blocks have one symbol less
                break
        symbol_data = finite_symbol(self._data, self.transmission, first + number, symbol)
        return self.transmission.payload_id(first + number, symbol), [symbol_data]


ObjectEncoder: TypeAlias = RaptorqObject | FiniteObject


def object_encoder(toi: int, data: Readable, transmission: Transmission, encoders: Encoders) -> ObjectEncoder:
    """The sender's, of an object of one byte or more."""
    if transmission.scheme == RAPTORQ:
        return RaptorqObject(toi, data, transmission, encoders)
    return FiniteObject(data, transmission)
