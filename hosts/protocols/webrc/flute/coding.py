"""One source block in any of the three schemes: its encoding symbols, and the block from those that have come."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from canopy_engine import BlockSymbols, RaptorqEncoder

from hosts.parts.fec.block import MAX_ESI, REPAIRS_AT_ONCE
from hosts.protocols.webrc.flute.reed_solomon import POINTS, decode, repair
from hosts.protocols.webrc.flute.transmission import RAPTORQ, REED_SOLOMON, Transmission
from hosts.storage import Readable

MOST_SENT: Final = MAX_ESI // REPAIRS_AT_ONCE * REPAIRS_AT_ONCE
"""RaptorQ symbols of a block until they are sent again."""
ENCODER_BYTES: Final = 8 << 20
"""Of the blocks whose repair symbols can be made at a moment (ours). Their source and intermediate symbols take twice
as much."""
LEAST_KEPT: Final = 2
"""Of them, however long: the one that is sent, and the one after it."""
PREPARED: Final = 16
"""Sizes of blocks that are prepared (ours): the library keeps what it has worked out for the last 64."""
LEAST_WORD: Final = 8
"""Bytes of the symbols that a block is prepared with: what they are is of no account."""


class _Block:
    """One whose repair symbols can be made, or will be."""

    def __init__(self, data: bytes, symbol: int) -> None:
        self.size = len(data)
        self._data = data
        self._symbol = symbol
        self._made: RaptorqEncoder | None = None

    @property
    def is_made(self) -> bool:
        return self._made is not None

    def encoder(self) -> RaptorqEncoder:
        """Takes time in proportion to the block the first time. Nobody waits for the thread that makes it, which may
        wait for a processor itself."""
        data = self._data  # before the other thread may drop it
        if self._made is None:
            self._made = RaptorqEncoder(data, self._symbol)
            self._data = b""
        return self._made


class Encoders:
    """RaptorQ's encoders of a session, of which those that were used last are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], _Block] = OrderedDict()
        self._bytes = 0
        self._prepared: set[int] = set()

    def prepare(self, symbols: int) -> None:
        """Blocks of so many source symbols will be sent. Most of an encoder's time goes into what depends on this
        number alone (RFC 6330, 5.4.2), and which the library keeps: spent here, no packet waits for it."""
        if symbols not in self._prepared and len(self._prepared) < PREPARED:
            self._prepared.add(symbols)
            RaptorqEncoder(bytes(LEAST_WORD * symbols), LEAST_WORD)

    def get(self, toi: int, block: int, read: Callable[[], bytes], symbol: int) -> RaptorqEncoder:
        """Of a block, which `read` gives. Raises FileError."""
        found = self._kept.get((toi, block)) or self._add(toi, block, _Block(read(), symbol))
        self._kept.move_to_end((toi, block))
        return found.encoder()

    def ahead(self, toi: int, block: int, read: Callable[[], bytes], symbol: int) -> Callable[[], object] | None:
        """What makes a block's in a thread, before it is asked for; the block is read here. None: that has begun.
        Raises FileError."""
        if (toi, block) in self._kept:
            self._kept.move_to_end((toi, block))  # it is wanted, if not yet
            return None
        return self._add(toi, block, _Block(read(), symbol)).encoder

    def is_being_made(self, toi: int, block: int) -> bool:
        """Whether `get` would wait for what `ahead` has begun."""
        found = self._kept.get((toi, block))
        return found is not None and not found.is_made

    def _add(self, toi: int, block: int, found: _Block) -> _Block:
        self._kept[toi, block] = found
        self._bytes += found.size
        while len(self._kept) > LEAST_KEPT and self._bytes > ENCODER_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1].size
        return found

    def forget(self, toi: int) -> None:
        """An object is sent no more."""
        for key in [key for key in self._kept if key[0] == toi]:
            self._bytes -= self._kept.pop(key).size


def finite_symbols(transmission: Transmission, source: int) -> int:
    """Encoding symbols that a block of so many source symbols has without a code, or with Reed-Solomon's (RFC 5510,
    6.2)."""
    if transmission.scheme != REED_SOLOMON:
        return source
    return source * transmission.most_encoding // transmission.most_source


def finite_symbol(data: Readable, transmission: Transmission, block: int, symbol: int) -> bytes:
    """A block's encoding symbol without a code, or with Reed-Solomon's."""
    begin, end = transmission.block(block)
    size = transmission.symbol
    at = begin + symbol * size
    if at < end:
        found = data.read(at, min(size, end - at))
        # Without a code the last symbol is as long as it is.
        return found.ljust(size, b"\0") if transmission.scheme == REED_SOLOMON else found
    whole = data.read(begin, end - begin)
    return repair([whole[at : at + size].ljust(size, b"\0") for at in range(0, len(whole), size)], symbol)


def decoded_block(
    transmission: Transmission, length: int, found: BlockSymbols, points: Sequence[int] = POINTS
) -> bytes | None:
    """The block of so many bytes that these symbols make; None: it takes others. `points`: of the Reed-Solomon code
    that is taken for the sender's."""
    size = transmission.symbol
    source = -(-length // size)
    if len(found) < source:
        return None
    # With sub-blocks symbols are no pieces of the block (RFC 6330, 4.4.1.2).
    if transmission.n == 1 and (whole := found.joined(length)) is not None:
        return whole
    if transmission.scheme == RAPTORQ:
        return found.solve(length, transmission.n, transmission.al)
    return b"".join(decode(dict(found.items()), source, points))[:length]
