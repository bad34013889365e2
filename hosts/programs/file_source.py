"""Files and folders as a session's stream: a head that says which (hosts/wire/contents.py), then each one's bytes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from hosts.programs.gathering import PIECE_BYTES, gather
from hosts.wire.contents import Contents
from hosts.wire.manifest import FileError


class FileSource:
    """Files and folders as a stream. Raises FileError when one cannot be read, or becomes shorter while it is sent."""

    def __init__(
        self, paths: Path | Sequence[Path], name: str | None = None, say: Callable[[str], None] = lambda text: None
    ) -> None:
        """`name`: of the only file or folder, at the receivers; `say` is told what is left out."""
        self.paths = [paths] if isinstance(paths, Path) else paths
        found = gather(self.paths, name, say)
        self.contents = Contents(tuple(one.entry for one in found))
        self._files = [(one.path, one.entry.size) for one in found if one.entry.size]
        self._file: BinaryIO | None = None
        self.begin(0)

    def begin(self, first: int) -> None:
        """From the stream's beginning: it carries what is behind the first so many bytes of all files."""
        self._first = first
        self._head = self.contents.head(first)
        self.carried = self._left = self.contents.size - first
        """Bytes of files in the stream."""
        self.total_bytes = len(self._head) + self._left
        """Of the stream."""
        self._next = 0
        self._skip = first
        while self._skip and self._skip >= self._files[self._next][1]:
            self._skip -= self._files[self._next][1]
            self._next += 1
        self._in_file = 0

    def rewind(self) -> None:
        """From the stream's beginning again."""
        self.begin(self._first)

    def read(self, space: int) -> bytes:
        """The next bytes of the stream, at most `space`; empty at its end."""
        if self._head:
            piece, self._head = self._head[:space], self._head[space:]
            return piece
        if not self._left:
            return b""
        if not self._in_file:
            self._open_next()
        assert self._file is not None
        path = self._files[self._next - 1][0]
        try:
            piece = self._file.read(min(space, self._in_file, PIECE_BYTES))
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from None
        if not piece:
            raise FileError(f"{path}: it became shorter while it was sent")
        self._left -= len(piece)
        self._in_file -= len(piece)
        return piece

    def _open_next(self) -> None:
        self.close()
        path, size = self._files[self._next]
        try:
            self._file = path.open("rb")
            self._file.seek(self._skip)
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}") from None
        self._next += 1
        self._in_file = size - self._skip
        self._skip = 0

    @property
    def current(self) -> tuple[str, int]:
        """The name of the file that is being read, and which of all it is, from 1 on."""
        number = max(self._next, 1)
        return (self._files[number - 1][0].name if self._files else "", number)

    @property
    def exhausted(self) -> bool:
        """Whether `read` has given everything."""
        return not self._head and not self._left

    def close(self) -> None:
        """Close the file that is open."""
        if self._file is not None:
            self._file.close()
            self._file = None
