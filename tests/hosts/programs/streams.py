"""Files as streams in pieces, received, and looked at where they are stored."""

import errno
import os
from pathlib import Path

from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink


def all_of(source: FileSource, piece: int = 1000) -> list[bytes]:
    """What a source gives, in pieces."""
    pieces = []
    while not source.exhausted:
        pieces.append(source.read(piece))
    source.close()
    assert sum(map(len, pieces)) == source.total_bytes
    return pieces


def stream_of(path: Path, piece: int = 1000) -> list[bytes]:
    """A file's stream in pieces."""
    return all_of(FileSource(path), piece)


def receive(pieces: list[bytes], sink: FileSink) -> Path:
    """A whole stream; where it is stored."""
    for piece in pieces:
        sink.write(piece)
    return sink.finish()


def list_of(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """Permissions, times and bytes of all below a folder."""
    return {
        str(path.relative_to(top)): (
            path.stat().st_mode & 0o777,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(top.rglob("*"))
    }


def full_disk(*arguments: object) -> int:
    """In place of a call of the system that needs room."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
