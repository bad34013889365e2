"""A file as RaptorQ source blocks (RFC 6330), for receivers that get any part of what is sent.

Each channel goes through the blocks in turn, on its own: whichever channels a receiver has joined, its packets are
spread evenly over the blocks, so that all become whole at about the same time. Every packet is a new symbol for as long
as its number has room for more: sixteen million a block.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from hosts.parts.fec.block import (
    MAX_ESI,
    MAX_SYMBOL_BYTES,
    REPAIRS_AT_ONCE,
    SYMBOL_ALIGNMENT,
    BlockDecoder,
    BlockEncoder,
    source_symbols,
)
from hosts.wire.header import PacketError

BLOCK_SYMBOLS: Final = 2048
"""Of one block as long as there are few enough of them (ours): coding one takes some 30 ms, and only the first repair
has to wait for it; the more blocks, the more packets beyond K receivers need."""
MAX_BLOCK_SYMBOLS: Final = 8192
"""Of one block (ours): of the largest files."""
MAX_BLOCKS: Final = 256
"""The block's number has 8 bits (RFC 6330, 3.2)."""
MOST_SENT: Final = MAX_ESI // REPAIRS_AT_ONCE * REPAIRS_AT_ONCE
"""Packets of a block until they are sent again."""


@dataclass(frozen=True)
class Layout:
    """How a file is cut: RFC 5052, 9.1. ValueError: it is empty or too long, or its symbols cannot be decoded."""

    length: int
    """Bytes."""
    symbol: int
    """Bytes of a symbol."""
    blocks: int
    """Z."""

    def __post_init__(self) -> None:
        if not 0 < self.symbol <= MAX_SYMBOL_BYTES or self.symbol % SYMBOL_ALIGNMENT:
            raise ValueError(f"a symbol of {self.symbol} bytes")
        if self.length <= 0 or not 0 < self.blocks <= MAX_BLOCKS:
            raise ValueError(f"no file: {self.length} bytes in {self.blocks} blocks of symbols of {self.symbol} bytes")
        if not self.blocks <= self.symbols <= self.blocks * MAX_BLOCK_SYMBOLS:
            raise ValueError(f"{self.length} bytes do not fit {self.blocks} blocks of symbols of {self.symbol} bytes")

    @classmethod
    def of(cls, length: int, symbol: int) -> "Layout":
        """In blocks of `BLOCK_SYMBOLS`, larger ones when there would be too many. ValueError: the file is empty or too
        long."""
        symbols = source_symbols(length, symbol)
        blocks = max(min(-(-symbols // BLOCK_SYMBOLS), MAX_BLOCKS), -(-symbols // MAX_BLOCK_SYMBOLS))
        return cls(length, symbol, blocks)

    @property
    def symbols(self) -> int:
        """Source symbols of all blocks."""
        return source_symbols(self.length, self.symbol)

    def block(self, number: int) -> tuple[int, int]:
        """A block's first byte and the byte after its last."""
        small, large_blocks = divmod(self.symbols, self.blocks)
        first = number * small + min(number, large_blocks)
        count = small + (number < large_blocks)
        return first * self.symbol, min((first + count) * self.symbol, self.length)


class ObjectEncoder:
    """The sender's."""

    def __init__(self, data: bytes, symbol: int) -> None:
        """ValueError: the file is empty or too long."""
        self.layout = layout = Layout.of(len(data), symbol)
        self._blocks = [
            BlockEncoder(data[slice(*layout.block(number))], symbol, MAX_BLOCK_SYMBOLS)
            for number in range(layout.blocks)
        ]
        self._turns: Counter[int] = Counter()

    def next_packet(self, channel: int) -> tuple[int, bytes]:
        """FEC Payload ID and symbol of the channel's next packet."""
        turn = self._turns[channel]
        self._turns[channel] = turn + 1
        number = (turn + channel) % self.layout.blocks
        block = self._blocks[number]
        if block.sent >= MOST_SENT:
            block.rewind()
        packet = block.next_packet()
        return number << 24 | int.from_bytes(packet[1:4], "big"), packet[4:]


class ObjectDecoder:
    """A receiver's."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.packets = 0
        """Received until the file was whole, of this file: repeated ones too."""
        self._blocks = [self._decoder(number) for number in range(layout.blocks)]
        self._missing = layout.blocks

    def _decoder(self, number: int) -> BlockDecoder:
        begin, end = self.layout.block(number)
        return BlockDecoder(end - begin, self.layout.symbol, MAX_BLOCK_SYMBOLS)

    def add(self, payload_id: int, symbol: bytes) -> bool:
        """Take a packet; whether the file is whole now. PacketError: it is none of this file."""
        number = payload_id >> 24
        if number >= len(self._blocks) or len(symbol) != self.layout.symbol:
            raise PacketError("symbol")
        if not self._missing:
            return True
        self.packets += 1
        block = self._blocks[number]
        if block.data is None and block.add((payload_id & MAX_ESI).to_bytes(4, "big") + symbol):
            self._missing -= block.data is not None
        return not self._missing

    @property
    def is_whole(self) -> bool:
        """Whether every block has been decoded."""
        return not self._missing

    @property
    def data(self) -> bytes:
        """The whole file."""
        return b"".join(block.data or b"" for block in self._blocks)

    @property
    def needed(self) -> int:
        """How many more packets it takes, at least."""
        return sum(block.needed for block in self._blocks)

    @property
    def overhead(self) -> float:
        """Packets received beyond the source symbols, as a share of them; once the file is whole."""
        return self.packets / self.layout.symbols - 1
