"""An object as symbols for receivers that get any part of what is sent, and from them.

Each channel goes through the blocks in turn, on its own: whichever channels a receiver has joined, its packets are
spread evenly over the blocks, so that all become whole at about the same time. RaptorQ's symbols are all new, whatever
the channel. Without a code, and with Reed-Solomon's few repair symbols, they come again; a receiver of several channels
then gets some of them twice.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final, TypeAlias

from hosts.protocols.webrc.flute.coding import BlockSink, FiniteSource, RaptorqSource, block_sink
from hosts.protocols.webrc.flute.reed_solomon import POINTS, RFC_POINTS
from hosts.protocols.webrc.flute.transmission import NO_CODE, RAPTORQ, REED_SOLOMON, Transmission
from hosts.wire.header import PacketError

SCHEMES: Final = {"raptorq": RAPTORQ, "reed-solomon": REED_SOLOMON, "no-code": NO_CODE}
"""By the name that the parameter `fec` has for them."""
ALIGNMENT: Final = 8
"""Al: bytes that RaptorQ's symbols are multiples of, as RFC 6330, 4.3 recommends."""
BLOCK_SYMBOLS: Final = 2048
"""Of one RaptorQ block as long as there are few enough of them (ours): coding one takes some 30 ms, and only the first
repair has to wait for it; the more blocks, the more packets beyond K receivers need."""
MAX_BLOCK_SYMBOLS: Final = 8192
"""Of one RaptorQ block that is sent (ours): of the largest files."""
MAX_BLOCKS: Final = 256
"""The block's number has 8 bits (RFC 6330, 3.2)."""
RS_SOURCE: Final = 64
RS_ENCODING: Final = 80
"""Reed-Solomon: source symbols of a block, and those with its repair (ours): a quarter more."""
NO_CODE_SYMBOLS: Final = 1024
"""Of a block without a code (ours): the most that a file of this size has to be cut for is 2^16 blocks."""
MOST_NO_CODE: Final = 2**16
GOLDEN: Final = (5**0.5 - 1) / 2
"""Channels begin so far apart, of the whole: neighbours, and their neighbours, meet as late as can be."""


def plan(scheme: int, length: int, symbol: int) -> Transmission:
    """How an object of so many bytes is sent, in symbols of at most so many. ValueError: it is too long."""
    if scheme == RAPTORQ:
        size = symbol // ALIGNMENT * ALIGNMENT
        if size <= 0:
            raise ValueError(f"{symbol} bytes hold no symbol")
        symbols = -(-length // size)
        blocks = max(min(-(-symbols // BLOCK_SYMBOLS), MAX_BLOCKS), -(-symbols // MAX_BLOCK_SYMBOLS))
        if blocks > MAX_BLOCKS:
            most = MAX_BLOCKS * MAX_BLOCK_SYMBOLS * size
            raise ValueError(f"it has {length} bytes, and with RaptorQ in such packets at most {most} can be sent")
        return Transmission(scheme, length, size, z=blocks, al=ALIGNMENT)
    if scheme == REED_SOLOMON:
        return Transmission(scheme, length, symbol, RS_SOURCE, RS_ENCODING)
    most = max(NO_CODE_SYMBOLS, -(-length // (symbol * MOST_NO_CODE)))
    return Transmission(scheme, length, symbol, most)


class RaptorqObject:
    """A sender's object that never runs out of symbols."""

    def __init__(self, data: bytes, transmission: Transmission) -> None:
        self.transmission = transmission
        pieces = [data[slice(*transmission.block(number))] for number in range(transmission.blocks)]
        self._blocks = [RaptorqSource(piece, transmission.symbol) for piece in pieces]
        self._turns: Counter[int] = Counter()

    def next_packet(self, channel: int) -> tuple[int, bytes]:
        """FEC Payload ID and symbol of the channel's next packet."""
        turn = self._turns[channel]
        self._turns[channel] = turn + 1
        number = (turn + channel) % len(self._blocks)
        symbol, data = self._blocks[number].take()
        return self.transmission.payload_id(number, symbol), data


class FiniteObject:
    """A sender's object of so many symbols, which each channel goes through from a place of its own."""

    def __init__(self, data: bytes, transmission: Transmission) -> None:
        self.transmission = transmission
        pieces = [data[slice(*transmission.block(number))] for number in range(transmission.blocks)]
        self._blocks = [FiniteSource(piece, transmission) for piece in pieces]
        self._most = sum(block.count for block in self._blocks)
        self._turns: dict[int, int] = {}

    def next_packet(self, channel: int) -> tuple[int, bytes]:
        """FEC Payload ID and symbol of the channel's next packet."""
        turn = self._turns.setdefault(channel, int(channel * GOLDEN % 1 * self._most))
        self._turns[channel] = turn + 1
        symbol, number = divmod(turn, len(self._blocks))
        symbol %= self._blocks[number].count
        return self.transmission.payload_id(number, symbol), self._blocks[number].symbol(symbol)


ObjectEncoder: TypeAlias = RaptorqObject | FiniteObject


def object_encoder(data: bytes, transmission: Transmission) -> ObjectEncoder:
    """The sender's, of an object of one byte or more."""
    return (RaptorqObject if transmission.scheme == RAPTORQ else FiniteObject)(data, transmission)


class ObjectDecoder:
    """A receiver's. An object of no bytes is whole at once."""

    def __init__(self, transmission: Transmission) -> None:
        self.transmission = transmission
        self.packets = 0
        """Received until the object was whole: repeated ones too."""
        self._blocks: dict[int, BlockSink] = {}  # those of which something has come: hostile objects have many
        self._missing = transmission.blocks

    def add(self, payload_id: int, payload: bytes) -> bool:
        """Take a packet's encoding symbols, one or several on end; whether the object is whole now. PacketError: they
        are none of it."""
        transmission = self.transmission
        number, symbol = transmission.place(payload_id)
        size = transmission.symbol
        # Only an object's last symbol may be shorter than the others (RFC 5445, 3.4.1).
        if not payload or (len(payload) % size and transmission.scheme == RAPTORQ):
            raise PacketError("symbol")
        if not self._missing:
            return True
        self.packets += 1
        block = self._blocks.get(number)
        if block is None:
            begin, end = transmission.block(number)
            block = self._blocks[number] = block_sink(transmission, end - begin)
        was_whole = block.is_whole
        for at in range(0, len(payload), size):
            block.add(symbol + at // size, payload[at : at + size])
        self._missing -= block.is_whole and not was_whole
        return not self._missing

    @property
    def is_whole(self) -> bool:
        """Whether every block is there."""
        return not self._missing

    def candidates(self) -> Iterator[bytes]:
        """The object, once it is whole; more than one where its sender may have meant several codes."""
        codes = (POINTS, RFC_POINTS) if self.transmission.scheme == REED_SOLOMON else (POINTS,)
        for points in codes:
            yield b"".join(self._blocks[number].data(points) for number in range(self.transmission.blocks))

    def release(self) -> None:
        """The object has been taken: keep nothing of it."""
        self._blocks.clear()

    @property
    def needed(self) -> int:
        """How many more symbols it takes, at least."""
        if self.is_whole:
            return 0
        opened = sum(block.source_symbols for block in self._blocks.values())
        return self.transmission.symbols - opened + sum(block.needed for block in self._blocks.values())

    @property
    def overhead(self) -> float:
        """Packets received beyond the source symbols, as a share of them; once the object is whole."""
        return self.packets / max(1, self.transmission.symbols) - 1
