"""One source block in any of the three schemes: its encoding symbols, and the block from those that have come."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from canopy_engine import RaptorqDecoder

from hosts.parts.fec.block import MAX_ESI, PAYLOAD_ID_BYTES, REPAIRS_AT_ONCE, BlockEncoder
from hosts.protocols.webrc.flute.reed_solomon import POINTS, decode, repair
from hosts.protocols.webrc.flute.transmission import MOST_RAPTORQ_SYMBOLS, RAPTORQ, REED_SOLOMON, Transmission

MOST_SENT: Final = MAX_ESI // REPAIRS_AT_ONCE * REPAIRS_AT_ONCE
"""RaptorQ symbols of a block until they are sent again."""


class RaptorqSource:
    """A block's source symbols, then repair: every one is new, for as long as there are numbers."""

    def __init__(self, data: bytes, symbol: int) -> None:
        self._encoder = BlockEncoder(data, symbol, MOST_RAPTORQ_SYMBOLS)

    def take(self) -> tuple[int, bytes]:
        """The next encoding symbol, and its id."""
        if self._encoder.sent >= MOST_SENT:
            self._encoder.rewind()
        packet = self._encoder.next_packet()
        return int.from_bytes(packet[1:PAYLOAD_ID_BYTES], "big"), packet[PAYLOAD_ID_BYTES:]


class FiniteSource:
    """A block without a code, or with Reed-Solomon's: so many symbols and no more."""

    def __init__(self, data: bytes, transmission: Transmission) -> None:
        size = transmission.symbol
        self._source = [data[at : at + size] for at in range(0, len(data), size)]
        self.count = len(self._source)
        """Encoding symbols."""
        if transmission.scheme == REED_SOLOMON:  # without a code the last symbol is as long as it is
            self._source[-1] = self._source[-1].ljust(size, b"\0")
            self.count = self.count * transmission.most_encoding // transmission.most_source  # RFC 5510, 6.2

    def symbol(self, number: int) -> bytes:
        """The encoding symbol with this id."""
        return self._source[number] if number < len(self._source) else repair(self._source, number)


class BlockSink(ABC):
    """Takes a block's encoding symbols until it is whole."""

    def __init__(self, length: int, transmission: Transmission) -> None:
        self.length = length
        self.source_symbols = -(-length // transmission.symbol)
        self._symbol = transmission.symbol

    @abstractmethod
    def add(self, symbol: int, data: bytes) -> None:
        """Take the encoding symbol with this id; one that is no symbol of the block, or has come before, is nothing."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether no more symbols are needed."""

    @abstractmethod
    def data(self, points: Sequence[int] = POINTS) -> bytes:
        """The block, once it is whole; `points`: of the Reed-Solomon code that is taken for the sender's."""

    @property
    @abstractmethod
    def needed(self) -> int:
        """How many more symbols it takes, at least."""


class RaptorqSink(BlockSink):
    """Decodes as soon as it can."""

    def __init__(self, length: int, transmission: Transmission) -> None:
        super().__init__(length, transmission)
        self._decoder: RaptorqDecoder | None = RaptorqDecoder(
            length, transmission.symbol, transmission.n, transmission.al
        )
        self._seen: set[int] = set()
        self._data: bytes | None = None

    def add(self, symbol: int, data: bytes) -> None:
        if self._decoder is None or symbol in self._seen:
            return
        self._seen.add(symbol)
        self._data = self._decoder.add(symbol, data.ljust(self._symbol, b"\0"))
        if self._data is not None:
            self._decoder = None
            self._seen.clear()

    @property
    def is_whole(self) -> bool:
        return self._data is not None

    def data(self, points: Sequence[int] = POINTS) -> bytes:
        assert self._data is not None
        return self._data

    @property
    def needed(self) -> int:
        return 0 if self.is_whole else max(1, self.source_symbols - len(self._seen))


class FiniteSink(BlockSink):
    """Keeps the symbols until the block is asked for: nobody says by which code its repair was made."""

    def __init__(self, length: int, transmission: Transmission) -> None:
        super().__init__(length, transmission)
        # Others send as much repair of a smaller block as of the largest.
        self._count = transmission.most_encoding if transmission.scheme == REED_SOLOMON else self.source_symbols
        self._found: dict[int, bytes] = {}

    def add(self, symbol: int, data: bytes) -> None:
        if symbol < self._count and not self.is_whole:
            self._found.setdefault(symbol, data.ljust(self._symbol, b"\0"))

    @property
    def is_whole(self) -> bool:
        return len(self._found) >= self.source_symbols

    def data(self, points: Sequence[int] = POINTS) -> bytes:
        return b"".join(decode(self._found, self.source_symbols, points))[: self.length]

    @property
    def needed(self) -> int:
        return self.source_symbols - len(self._found)


def block_sink(transmission: Transmission, length: int) -> BlockSink:
    """Of a block of so many bytes."""
    return (RaptorqSink if transmission.scheme == RAPTORQ else FiniteSink)(length, transmission)
