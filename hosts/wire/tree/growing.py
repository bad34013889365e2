"""A source whose packets can be checked as they come: its content, with the tree of its hashes (layout.py)."""

from collections.abc import Callable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Final, Protocol

from canopy_engine import short_hashes

from hosts.wire.manifest import FileError
from hosts.wire.short_hash import HASH_BYTES, short_hash
from hosts.wire.tree.layout import TreeLayout

IN_MEMORY_BYTES: Final = 1 << 24
"""Of hashes; more are in a temporary file: 8 bytes a packet, 0.6 % of the content (ours)."""
PIECE_BYTES: Final = 1 << 20
"""What is read of the content at once."""


def _hashes() -> SpooledTemporaryFile[bytes]:
    return SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)


class Content(Protocol):
    """What can be read twice."""

    def read(self, space: int) -> bytes:
        """Up to `space` bytes; empty at the end. Raises FileError."""

    def rewind(self) -> None:
        """From the beginning again. Raises FileError."""


def layout_for(content_bytes: int, packet_bytes: int, window_bytes: int) -> TreeLayout:
    """Of the stream that carries so much. `window_bytes`: what receivers have room for. ValueError: packets are too
    short."""
    hashes = packet_bytes // HASH_BYTES
    ahead = -(-window_bytes // max(1, hashes * packet_bytes)) + 1
    return TreeLayout(packet_bytes, content_bytes, max(1, min(ahead, hashes - 1)))


class GrownSource:
    """See the module. Raises FileError as the content does."""

    def __init__(
        self, content: Content, packet_bytes: int, window_bytes: int, going: Callable[[], bool] = lambda: True
    ) -> None:
        """Reads the content once for its hashes, which takes its time: FileError when it is no longer `going`.
        `window_bytes`: what receivers have room for. ValueError: packets are too short."""
        self._content = content
        self._going = going
        self._levels = [_hashes()]
        self.layout = layout_for(self._hash(content, packet_bytes), packet_bytes, window_bytes)
        self._top = self._grow()
        content.rewind()
        self._pieces = self._packets()
        self._next = next(self._pieces, b"")

    def _hash(self, content: Content, packet_bytes: int) -> int:
        """Of each packet of the content, level 0; how long it is."""
        length, rest = 0, b""
        while piece := content.read(PIECE_BYTES):
            if not self._going():
                raise FileError("stopped")
            length += len(piece)
            data = rest + piece
            whole = len(data) // packet_bytes * packet_bytes
            self._levels[0].write(short_hashes(data[:whole], packet_bytes))
            rest = data[whole:]
        if rest:
            self._levels[0].write(short_hash(rest))
        return length

    def _grow(self) -> bytes:
        """The hashes of the tables, level by level; those of the highest."""
        for level in range(1, self.layout.levels + 1):
            self._levels.append(_hashes())
            for index in range(self.layout.counts[level]):
                self._levels[level].write(short_hash(self._table(level, index)))
        return self._read(self.layout.levels, 0, self.layout.counts[-1])

    def _table(self, level: int, index: int) -> bytes:
        hashes = self.layout.hashes
        return self._read(level - 1, index * hashes, hashes).ljust(self.layout.packet_bytes, b"\0")

    def _read(self, level: int, first: int, count: int) -> bytes:
        self._levels[level].seek(first * HASH_BYTES)
        return self._levels[level].read(count * HASH_BYTES)

    def _packets(self) -> Iterator[bytes]:
        """The stream."""
        layout = self.layout
        yield layout.write(self._top)
        left = layout.content_bytes
        block_bytes = layout.hashes * layout.packet_bytes
        for block in range(-(-layout.counts[0] // layout.hashes)):
            for level, index in layout.before(block):
                yield self._table(level, index)
            here = min(left, block_bytes)
            left -= here
            while here:
                piece = self._content.read(min(here, PIECE_BYTES))
                if not piece:
                    raise FileError("the content became shorter while it was sent")
                here -= len(piece)
                yield piece
        for kept in self._levels:
            kept.close()

    def read(self, space: int) -> bytes:
        """The next bytes of the stream, at most `space`; empty at its end."""
        piece, self._next = self._next[:space], self._next[space:]
        if not self._next:
            self._next = next(self._pieces, b"")
        return piece

    @property
    def exhausted(self) -> bool:
        """Whether `read` has given everything."""
        return not self._next
