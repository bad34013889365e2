"""Symbols that wait for the rest of their block, on disk: what bounds a receiver's memory, and what it resumes with.

head: magic "CSYM1\0\0\0", SHA-256 of what the object is (32 bytes), 24 bytes of zeros
a region of `slots` records for each block, of which the first so many are used
record: encoding symbol id (32 bits), CRC-32 of id and symbol (32 bits), symbol

A block that is whole has stood in the object itself since; its first record then has the id 2^32 - 1, and the CRC-32 of
the block. Whatever is there when a receiver begins is believed as far as its checks agree: a file that was cut off, or
damaged, has fewer symbols.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator
from typing import Final

from canopy_engine import BlockSymbols

from hosts.protocols.webrc.flute.transmission import Transmission
from hosts.storage import Room

MAGIC: Final = b"CSYM1\0\0\0"
HEAD: Final = struct.Struct("!8s32s24x")
RECORD: Final = struct.Struct("!II")
WHOLE: Final = 2**32 - 1
SPARE: Final = 32
"""Records of a block beyond its source symbols (ours): decoding asks for a symbol more in one case of a hundred (RFC
6330, 5.1), in so many never."""

FIRST_RECORDS: Final = 4
"""That are read at once where there may be one (ours)."""


class SymbolStore:
    """Of one object."""

    def __init__(self, room: Room, transmission: Transmission, key: str) -> None:
        self.room = room
        self._transmission = transmission
        self._key = hashlib.sha256(key.encode()).digest()
        self._record = RECORD.size + transmission.symbol
        self.slots = transmission.largest_block + SPARE
        """Records of each block."""

    def begin(self) -> bool:
        """Whether symbols of this object may be there; else all is cleared."""
        head = self.room.symbols.read(0, HEAD.size)
        if len(head) == HEAD.size and HEAD.unpack(head) == (MAGIC, self._key):
            return True
        if head or self.room.object.read(0, 1):
            self.room.clear()
        return False

    def sign(self) -> None:
        """Say what the object is; before the first symbol."""
        self.room.symbols.write(0, HEAD.pack(MAGIC, self._key))

    def _place(self, block: int, slot: int) -> int:
        return HEAD.size + (block * self.slots + slot) * self._record

    def append(self, block: int, stored: int, found: BlockSymbols) -> None:
        """Symbols of a block that has so many records already."""
        self.room.symbols.write(self._place(block, stored), found.records())

    def read(self, block: int, most: int, found: BlockSymbols) -> int:
        """How many of the first `most` records of a block are good, up to the first that is not; their symbols go to
        `found`."""
        return found.add_records(self.room.symbols.read(self._place(block, 0), most * self._record))

    def recover(self, block: int, found: BlockSymbols) -> int:
        """As `read`, of all records: in pieces that double, for of a long file's blocks most have few."""
        good, piece = 0, FIRST_RECORDS
        while good < self.slots:
            piece = min(piece, self.slots - good)
            new = found.add_records(self.room.symbols.read(self._place(block, good), piece * self._record))
            good += new
            if new < piece:
                break
            piece *= 2
        return good

    def mark(self, block: int, data: bytes) -> None:
        """A block is whole, and has been written."""
        self.room.symbols.write(self._place(block, 0), RECORD.pack(WHOLE, zlib.crc32(data)))

    def begun(self) -> Iterator[int]:
        """The blocks of which anything may have been written: of a long file's, few at first."""
        number = 0
        while (place := self.room.symbols.next_written(self._place(number, 0))) is not None:
            number = max(number, (place - HEAD.size) // (self.slots * self._record))
            if number >= self._transmission.blocks:
                return
            yield number
            number += 1

    def is_whole(self, block: int) -> bool:
        """Whether a block was marked, and is still what it was."""
        record = self.room.symbols.read(self._place(block, 0), RECORD.size)
        if len(record) < RECORD.size:
            return False
        symbol, check = RECORD.unpack(record)
        if symbol != WHOLE:
            return False
        begin, end = self._transmission.block(block)
        data = self.room.object.read(begin, end - begin)
        return len(data) == end - begin and zlib.crc32(data) == check
