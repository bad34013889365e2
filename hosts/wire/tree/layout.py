"""Where in a stream the hashes of its packets are (a hash tree, Merkle 1987, in packets of the stream; ours).

The stream is cut into packets of the same size, the last of which may be shorter. Packet 0 is the root: magic "CTRE",
version (8 bits), reserved (8), how far ahead hashes are sent (16), bytes of a packet (16), reserved (16), bytes of the
content (64), then hashes (64 bits each). The others are content, or tables of N hashes that fill a packet. A table of
level 1 has those of N packets of the content in a row, a *block*; one of level l + 1 those of N tables of level l; the
root those of the highest level. A table of level l is sent l * `ahead` blocks before the first block that it speaks of.
So who has the stream up to some packet has the hashes of all that may come within its window, and takes nothing else.
"""

import struct
from collections.abc import Iterator
from typing import Final

from hosts.wire.short_hash import HASH_BYTES

MAGIC: Final = b"CTRE"
VERSION: Final = 1
ROOT: Final = struct.Struct("!4sBxHHxxQ")
LEAST_HASHES: Final = 8
"""In a table; shorter packets have no tree (ours)."""
LEAST_PACKET_BYTES: Final = LEAST_HASHES * HASH_BYTES
"""Of the stream."""
MOST_LEVELS: Final = 6
"""Of tables: with 175 hashes in one, 10^16 bytes (ours)."""


class TreeLayout:
    """Of a stream with so much content. Packets count from 0, and so do blocks and the tables of a level."""

    def __init__(self, packet_bytes: int, content_bytes: int, ahead: int) -> None:
        """`ahead`: blocks. ValueError for what cannot be."""
        self.packet_bytes = packet_bytes
        self.content_bytes = content_bytes
        self.hashes = packet_bytes // HASH_BYTES
        """In a table."""
        self.ahead = ahead
        root = (packet_bytes - ROOT.size) // HASH_BYTES
        if self.hashes < LEAST_HASHES or root < 1:
            raise ValueError("packets are too short for a tree of hashes")
        if not 1 <= ahead < self.hashes or content_bytes < 1:
            raise ValueError("no tree of hashes is like that")
        self.counts = [-(-content_bytes // packet_bytes)]
        """Packets of the content, tables of level 1, of level 2, .."""
        while self.counts[-1] > root:
            self.counts.append(-(-self.counts[-1] // self.hashes))
        self.levels = len(self.counts) - 1
        """Of tables."""
        if self.levels > MOST_LEVELS:
            raise ValueError("the content is too long for a tree of hashes")
        self.packets = 1 + sum(self.counts)
        self.last_bytes = content_bytes - (self.counts[0] - 1) * packet_bytes
        """Of the last packet."""
        self.stream_bytes = (self.packets - 1) * packet_bytes + self.last_bytes
        self._spans: list[int] = [0, *(int(self.hashes**level) for level in range(self.levels))]
        """Blocks that a table of a level speaks of."""

    @classmethod
    def read(cls, root: bytes) -> "TreeLayout | None":
        """As packet 0 says; None when it is no root. ValueError for one that no sender makes."""
        if len(root) < ROOT.size or not root.startswith(MAGIC):
            return None
        _, version, ahead, packet_bytes, content_bytes = ROOT.unpack_from(root)
        if version != VERSION or packet_bytes != len(root):
            raise ValueError("no tree of hashes is like that")
        return cls(packet_bytes, content_bytes, ahead)

    def write(self, top: bytes) -> bytes:
        """Packet 0, with the hashes of the highest level."""
        head = ROOT.pack(MAGIC, VERSION, self.ahead, self.packet_bytes, self.content_bytes)
        return (head + top).ljust(self.packet_bytes, b"\0")

    def tables(self, level: int, block: int) -> int:
        """Of that level, those that are sent before this block begins."""
        if block < 0:
            return 0
        return min(self.counts[level], (block + level * self.ahead) // self._spans[level] + 1)

    def begins_at(self, block: int) -> int:
        """Packets before a block's own, and before the tables that are sent just before it."""
        first = min(block * self.hashes, self.counts[0])
        return 1 + first + sum(self.tables(level, block - 1) for level in range(1, self.levels + 1))

    def content_at(self, block: int) -> int:
        """Packets before the first of a block's content."""
        first = min(block * self.hashes, self.counts[0])
        return 1 + first + sum(self.tables(level, block) for level in range(1, self.levels + 1))

    def place(self, level: int, index: int) -> int:
        """The packet that is that table; of level 0, that packet of the content."""
        if level == 0:
            return self.content_at(index // self.hashes) + index % self.hashes
        block = max(0, index * self._spans[level] - level * self.ahead)
        higher = (self.tables(one, block) - self.tables(one, block - 1) for one in range(level + 1, self.levels + 1))
        return self.begins_at(block) + sum(higher) + index - self.tables(level, block - 1)

    def before(self, block: int) -> Iterator[tuple[int, int]]:
        """The tables that are sent just before a block: level and index."""
        for level in range(self.levels, 0, -1):
            for index in range(self.tables(level, block - 1), self.tables(level, block)):
                yield level, index


def has_tree(packet: bytes) -> bool:
    """Whether a stream with this first packet has one."""
    try:
        return TreeLayout.read(packet) is not None
    except ValueError:
        return False
