"""An object from its symbols: a receiver's. Blocks that are whole stand in the object's room at once; of the others the
symbols wait in memory, and in the room when there are too many (`spill`)."""

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from canopy_engine import BlockSymbols

from hosts.protocols.webrc.flute.coding import decoded_block
from hosts.protocols.webrc.flute.reed_solomon import RFC_POINTS
from hosts.protocols.webrc.flute.store import SymbolStore
from hosts.protocols.webrc.flute.transmission import RAPTORQ, REED_SOLOMON, SYMBOL_BITS, Transmission
from hosts.storage import Room
from hosts.wire.header import PacketError

SYMBOL_COST: Final = 40
"""Bytes of memory that a symbol takes beside its own, at most (the engine's table of them)."""
WHOLE: Final = 2**16 - 1
"""Of a block, in place of how many records of it are stored."""
PIECE_BYTES: Final = 1 << 20


class SymbolRun(NamedTuple):
    """Packets that came together, with one symbol each."""

    ids: Sequence[int]
    """Their FEC Payload IDs."""
    data: bytes
    """Of all of them, one after the other: the symbols, each behind a head."""
    size: int
    """Bytes of each."""
    symbol: int
    """Bytes of each one's symbol."""

    def one(self, number: int) -> tuple[int, bytes]:
        """A packet's FEC Payload ID and symbol."""
        end = (number + 1) * self.size
        return self.ids[number], self.data[end - self.symbol : end]


class _Block:
    """One that is not whole, of which symbols are in memory."""

    __slots__ = ("found", "needed")

    def __init__(self, needed: int, symbol: int) -> None:
        self.found = BlockSymbols(symbol)
        self.needed = needed
        """Symbols with which it is tried next."""


class ObjectDecoder:
    """An object of no bytes is whole at once. It needs a room (`settle`) before its first block can be whole."""

    def __init__(self, transmission: Transmission) -> None:
        self.transmission = transmission
        self.packets = 0
        """Received until the object was whole: repeated ones too."""
        self.held = 0
        """Bytes of symbols in memory."""
        self.resumed = 0
        """Symbols that were there already."""
        self._bits = SYMBOL_BITS[transmission.scheme]
        self._blocks = transmission.blocks
        self._store: SymbolStore | None = None
        self._open: OrderedDict[int, _Block] = OrderedDict()  # the one that has waited longest first
        self._stored: array[int] | None = None  # records of each block, or WHOLE
        self._missing = self._blocks
        self._symbols = 0
        self._guessed = False
        self._is_signed = False

    # --- its room

    def settle(self, room: Room, key: str) -> None:
        """It has room from now on, with what an earlier receiver left there. Raises FileError."""
        store = self._store = SymbolStore(room, self.transmission, key)
        self._stored = array("H", bytes(2 * self.transmission.blocks))
        self._is_signed = room.lasts and store.begin()
        if self._is_signed:
            self._read_back(store)
        for number in list(self._open):
            self._try(number)

    @property
    def is_settled(self) -> bool:
        """Whether it has its room."""
        return self._store is not None

    def _read_back(self, store: SymbolStore) -> None:
        assert self._stored is not None
        for number in store.begun():
            if store.is_whole(number):
                self._close(number)
                self.resumed += self.transmission.source(number)
                continue
            found = BlockSymbols(self.transmission.symbol)
            self._stored[number] = store.recover(number, found)
            self._symbols += len(found)
            self.resumed += len(found)

    def _sign(self, store: SymbolStore) -> None:
        if not self._is_signed:
            store.sign()
            self._is_signed = True

    def spill(self) -> bool:
        """Write the symbols of the block that has waited longest to the room; whether there were any. FileError."""
        store, stored = self._store, self._stored
        if store is None or stored is None or not self._open or not store.room.lasts:
            return False
        number, block = self._open.popitem(last=False)
        self._sign(store)
        if stored[number] + len(block.found) <= store.slots:
            store.append(number, stored[number], block.found)
            stored[number] += len(block.found)
        else:  # a block that no number of symbols makes whole
            self._symbols -= stored[number] + len(block.found)
            stored[number] = 0
        self.held -= self._cost(block)
        return True

    def _cost(self, block: _Block) -> int:
        """Bytes of memory that its symbols take."""
        return len(block.found) * (self.transmission.symbol + SYMBOL_COST)

    # --- packets

    def add(self, payload_id: int, payload: bytes) -> bool:
        """Take a packet's encoding symbols, one or several on end; whether the object is whole now. PacketError: they
        are none of it. Raises FileError."""
        transmission = self.transmission
        number, symbol = payload_id >> self._bits, payload_id & (1 << self._bits) - 1
        if number >= self._blocks:
            raise PacketError("symbol")
        size = transmission.symbol
        if not payload or (len(payload) % size and not self._may_end(number, symbol, payload)):
            raise PacketError("symbol")
        if not self._missing:
            return True
        self.packets += 1
        stored = 0 if self._stored is None else self._stored[number]
        if stored == WHOLE:
            return False
        block = self._open.get(number) or self._opened(number)
        found = block.found
        for at in range(0, len(payload), size):
            if self._is_known(number, symbol) and found.add(symbol, payload[at : at + size]):
                self.held += size + SYMBOL_COST
                self._symbols += 1
            symbol += 1
        if stored + len(found) >= block.needed:
            self._try(number)
        else:
            self._open.move_to_end(number)
        return not self._missing

    def add_run(self, run: SymbolRun) -> int:
        """Take packets of one block with one whole symbol each, as `add` does, until the object is whole; how many. 0:
        they have to be taken one by one. Raises FileError."""
        ids, bits, size = run.ids, self._bits, run.size
        number, mask = ids[0] >> bits, (1 << bits) - 1
        if min(ids) >> bits != number or max(ids) >> bits != number or number >= self._blocks or not self._missing:
            return 0
        if run.symbol != self.transmission.symbol or not self._is_known(number, max(ids) & mask):
            return 0
        taken = 0
        while taken < len(ids) and self._missing:
            stored = 0 if self._stored is None else self._stored[number]
            if stored == WHOLE:
                self.packets += len(ids) - taken
                return len(ids)
            block = self._open.get(number) or self._opened(number)
            found = block.found
            had = len(found)
            until = min(len(ids), taken + max(1, block.needed - stored - had))
            new = found.add_run(ids[taken:until], mask, run.data[taken * size : until * size], size)
            self.packets += until - taken
            taken = until
            self.held += new * (run.symbol + SYMBOL_COST)
            self._symbols += new
            if stored + had + new >= block.needed:
                self._try(number)
            else:
                self._open.move_to_end(number)
        return taken

    def _opened(self, number: int) -> _Block:
        """A block of which the first symbols come."""
        found = self._open[number] = _Block(self.transmission.source(number), self.transmission.symbol)
        return found

    def _may_end(self, number: int, symbol: int, payload: bytes) -> bool:
        """Whether a packet's last symbol may be shorter than the others: it is the object's last one (RFC 5445, 3.4.1;
        RFC 6330, 4.4.2). Of other schemes' what is shorter is padded."""
        transmission = self.transmission
        if transmission.scheme != RAPTORQ:
            return True
        whole, rest = divmod(len(payload), transmission.symbol)
        is_last = number == transmission.blocks - 1 and symbol + whole + 1 == transmission.source(number)
        return transmission.n == 1 and is_last and rest == transmission.length % transmission.symbol

    def _is_known(self, number: int, symbol: int) -> bool:
        """Whether a block has a symbol of this id."""
        scheme = self.transmission.scheme
        if scheme == RAPTORQ:
            return True
        # Others send as much repair of a smaller block as of the largest.
        return symbol < (
            self.transmission.most_encoding if scheme == REED_SOLOMON else self.transmission.source(number)
        )

    def _try(self, number: int) -> None:
        """Make a block whole, if its symbols are enough and there is room for it."""
        store, stored, block = self._store, self._stored, self._open[number]
        if store is None or stored is None or stored[number] + len(block.found) < block.needed:
            return
        if stored[number]:  # what was stored may have come again since
            self.held -= self._cost(block)
            self._symbols -= stored[number] + len(block.found)
            store.read(number, stored[number], block.found)
            self._symbols += len(block.found)
            self.held += self._cost(block)
            stored[number] = 0
        begin, end = self.transmission.block(number)
        data = decoded_block(self.transmission, end - begin, block.found)
        if data is None:
            block.needed = max(block.needed, len(block.found) + 1)
            return
        store.room.object.write(begin, data)
        if self._is_guess(number, block):
            self._guessed = True  # its symbols are kept: the code may have been another one
            store.append(number, 0, block.found)
        elif store.room.lasts and self.transmission.blocks > 1:
            self._sign(store)
            store.mark(number, data)
        self._symbols -= len(block.found)
        self.held -= self._cost(block)
        del self._open[number]
        self._close(number)

    def _is_guess(self, number: int, block: _Block) -> bool:
        source = self.transmission.source(number)
        return self.transmission.scheme == REED_SOLOMON and any(symbol >= source for symbol, _ in block.found.items())

    def _close(self, number: int) -> None:
        assert self._stored is not None
        self._stored[number] = WHOLE
        self._symbols += self.transmission.source(number)
        self._missing -= 1

    # --- the object

    @property
    def is_whole(self) -> bool:
        """Whether every block is there."""
        return not self._missing

    def candidates(self) -> Iterator[None]:
        """Once the object is whole: `pieces` has it now; and again, where its sender may have meant another code."""
        yield
        if self._guessed and self._store is not None:
            store = self._store
            for number in range(self.transmission.blocks):
                begin, end = self.transmission.block(number)
                found = BlockSymbols(self.transmission.symbol)
                store.read(number, self.transmission.source(number), found)
                other = decoded_block(self.transmission, end - begin, found, RFC_POINTS) if len(found) else None
                if other is not None:
                    store.room.object.write(begin, other)
            yield

    def pieces(self) -> Iterator[bytes]:
        """The object as it is in its room."""
        for at in range(0, self.transmission.length if self._store else 0, PIECE_BYTES):
            assert self._store is not None
            yield self._store.room.object.read(at, min(PIECE_BYTES, self.transmission.length - at))

    @property
    def needed(self) -> int:
        """How many more symbols it takes, at least."""
        return max(1, self.transmission.symbols - self._symbols) if self._missing else 0

    @property
    def overhead(self) -> float:
        """Packets received beyond the source symbols, as a share of them; once the object is whole."""
        return (self.packets + self.resumed) / max(1, self.transmission.symbols) - 1
