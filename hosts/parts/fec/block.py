"""One source block as RaptorQ symbols (RFC 6330), for every protocol that repairs by sending more of them.

A packet of a block is the FEC Payload ID (source block number, 8 bits, always 0 here; encoding symbol id, 24 bits) and
one symbol. The first `source_symbols` packets carry the data themselves; all later ones are repair, each new to
everybody. There is one sub-block (N = 1). A block of K symbols is decoded from K packets, whichever they are, and now
and then one more.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from canopy_engine import RaptorqDecoder, RaptorqEncoder, frame_symbols

PAYLOAD_ID_BYTES: Final = 4
SYMBOL_ALIGNMENT: Final = 8
"""Al, of which symbols are multiples: twice what RFC 6330, 4.3 recommends (ours), for machine words of 64 bits."""
LEAST_PACKET_BYTES: Final = PAYLOAD_ID_BYTES + SYMBOL_ALIGNMENT
"""A packet with the smallest symbol."""
MAX_SOURCE_SYMBOLS: Final = 1024
"""Of one block (ours): decoding takes milliseconds, and a block is a second at 10 Mbit/s."""
MAX_ESI: Final = 2**24 - 1
REPAIRS_AT_ONCE: Final = 16
"""Made by one call (ours): a fraction of a millisecond."""


def symbol_bytes(packet_bytes: int) -> int:
    """The largest symbol of a packet of so many bytes. ValueError when there is none."""
    size = (packet_bytes - PAYLOAD_ID_BYTES) // SYMBOL_ALIGNMENT * SYMBOL_ALIGNMENT
    if size <= 0:
        raise ValueError(f"{packet_bytes} bytes hold no symbol")
    return size


def source_symbols(length: int, symbol: int) -> int:
    """K: symbols of a block of `length` bytes."""
    return -(-length // symbol)


class BlockEncoder:
    """Gives one packet after the other, without end. The first repair takes time in proportion to the block, some 10 ms
    a megabyte, unless `prepare` has been called; all others take the same, whatever their number."""

    def __init__(self, data: bytes, symbol: int, most: int = MAX_SOURCE_SYMBOLS) -> None:
        """`symbol`: bytes of a symbol; `most`: source symbols. ValueError for an empty block, or a longer one."""
        self.length = len(data)
        self.source_symbols = source_symbols(len(data), symbol)
        if not 0 < self.source_symbols <= most:
            raise ValueError(f"a block has 1 to {most} symbols, not {self.source_symbols}")
        self._data = data
        self._symbol = symbol
        self._encoder: RaptorqEncoder | None = None
        self._repairs: deque[bytes] = deque()
        self._next = 0

    @property
    def sent(self) -> int:
        """Packets given so far, since the last `rewind`."""
        return self._next

    def next_packet(self) -> bytes:
        """The next packet: the source symbols in order, then repair."""
        number = self._next
        self._next += 1
        return number.to_bytes(PAYLOAD_ID_BYTES, "big") + self._encoding_symbol(number)

    def source_run(self, head: bytes, most: int) -> bytes:
        """The next packets, `most` of them and none but source symbols, each behind this head."""
        first = self._next
        self._next = min(first + most, self.source_symbols)
        data = self._data[first * self._symbol : self._next * self._symbol]
        return frame_symbols(head + first.to_bytes(PAYLOAD_ID_BYTES, "big"), data, self._symbol)

    @property
    def can_repair(self) -> bool:
        """Whether a repair takes no time to speak of."""
        return self._encoder is not None

    def prepare(self) -> None:
        """What the first repair takes. A thread may do it, while nobody asks for a repair."""
        self._encoder = RaptorqEncoder(self._data, self._symbol)

    def rewind(self) -> None:
        """Give the same packets again, from the first one."""
        self._next = 0
        self._repairs.clear()

    def _encoding_symbol(self, number: int) -> bytes:
        if number < self.source_symbols:
            return self._data[number * self._symbol : (number + 1) * self._symbol].ljust(self._symbol, b"\0")
        if not self._repairs:
            if self._encoder is None:
                self.prepare()
            assert self._encoder is not None
            self._repairs.extend(self._encoder.repair(number - self.source_symbols, REPAIRS_AT_ONCE))
        return self._repairs.popleft()


class BlockDecoder:
    """Takes packets of one block until it is whole.

    Where all source symbols come, it is whole with the last one. Where others stand for some of them, it `is_solvable`
    once there are enough, and `solve` makes it whole, unless it takes more; or `begin`, the work that it returns, which
    a thread may do, and `settle`.
    """

    def __init__(self, length: int, symbol: int, most: int = MAX_SOURCE_SYMBOLS) -> None:
        """ValueError for a length that no encoder sends, with `most` source symbols."""
        self.source_symbols = source_symbols(length, symbol)
        if not 0 < self.source_symbols <= most:
            raise ValueError(f"a block has 1 to {most} symbols, not {self.source_symbols}")
        self.length = length
        self._symbol = symbol
        self._decoder: RaptorqDecoder | None = RaptorqDecoder(length, symbol)
        self._seen: set[int] = set()
        self.data: bytes | None = None
        """The block, once it is whole."""
        self._is_busy = False
        self._found: list[bytes | None] = []  # what came of the work
        self._later: deque[Callable[[RaptorqDecoder], bytes | None]] = deque()  # what came while it went on

    def add(self, packet: bytes) -> bool:
        """Take a packet; False when it is none of this block, or was seen before."""
        if len(packet) != PAYLOAD_ID_BYTES + self._symbol or packet[0] != 0:
            return False
        esi = int.from_bytes(packet[1:4], "big")
        if esi in self._seen or self._decoder is None:
            return False
        self._seen.add(esi)
        self._give(lambda decoder: decoder.add(esi, packet[PAYLOAD_ID_BYTES:]))
        return True

    def add_run(self, data: bytes, size: int, head: int) -> None:
        """Take packets that follow each other, each behind `head` bytes of a payload of `size`, as far as they are of
        this block."""
        first = int.from_bytes(data[head + 1 : head + PAYLOAD_ID_BYTES], "big")
        fits = size == head + PAYLOAD_ID_BYTES + self._symbol and data[head] == 0
        if not fits or first + len(data) // size > MAX_ESI + 1 or self._decoder is None:
            return
        self._seen.update(range(first, first + len(data) // size))
        self._give(lambda decoder: decoder.add_run(first, data, size, head + PAYLOAD_ID_BYTES))

    def _give(self, take: Callable[[RaptorqDecoder], bytes | None]) -> None:
        if self._is_busy:
            self._later.append(take)
        elif self._decoder is not None:
            self._keep(take(self._decoder))

    def _keep(self, data: bytes | None) -> None:
        if data is not None:
            self.data = data
            self._decoder = None

    @property
    def is_solvable(self) -> bool:
        """Whether there may be enough, and nobody is at it."""
        return not self._is_busy and self._decoder is not None and self._decoder.is_solvable

    def begin(self) -> Callable[[], None]:
        """The work that makes a solvable block whole: milliseconds. What comes meanwhile waits for `settle`."""
        decoder, found = self._decoder, self._found
        assert decoder is not None
        self._is_busy = True
        return lambda: found.append(decoder.solve())

    def settle(self) -> bool:
        """Whether the work that was begun is done; then what came of it holds from now on."""
        if not self._found:
            return False
        self._is_busy = False
        self._keep(self._found.pop())
        while self._later:
            self._give(self._later.popleft())
        return True

    def solve(self) -> None:
        """Make it whole here and now, if it is solvable."""
        if self.is_solvable:
            self.begin()()
            self.settle()

    @property
    def needed(self) -> int:
        """How many more packets it takes, at least, as far as is known; 0 when it is whole."""
        return 0 if self._is_busy or self.data is not None else max(1, self.source_symbols - len(self._seen))
