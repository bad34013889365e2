"""The head of a stream of several files: what the receiver is told before the first byte.

magic "CFIL", version 2 (8 bits), reserved (24 bits), length of the entries in bytes (32 bits), first byte (64 bits),
entries, and then the files' bytes one file after the other, from that first byte on. An entry: kind (8 bits), reserved
(8 bits), mode (16 bits), length of the path (16 bits), time of its last change (64 bits, signed, ns since 1970), size
(64 bits), SHA-256 (256 bits), path (UTF-8, `/` between names).

A single file that is sent from its first byte on has the head of `hosts.wire.manifest`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from hosts.wire.manifest import MAGIC, PREFIX, FileError, Manifest, unsafe_name
from hosts.wire.reason import Reason

VERSION: Final = 2
HEAD: Final = struct.Struct("!4sB3xIQ")
ENTRY: Final = struct.Struct("!BxHHqQ32s")
MOST_ENTRIES: Final = 65_536
"""Files and folders of one session (ours)."""
MOST_BYTES: Final = 16 << 20
"""Of all entries: what a receiver keeps in memory of a stranger's list (ours)."""
PATH_MAX_BYTES: Final = 1024
"""Of a path below the receiver's folder (ours; Linux' PATH_MAX is 4096)."""
MOST_NAMES: Final = 32
"""In one path: so deep a folder may be (ours)."""
MODE_BITS: Final = 0o777
"""Permissions; set-user-ID, set-group-ID and the sticky bit (inode(7)) never travel."""
_MOST_SIZE: Final = (1 << 63) - 1
"""off_t, which all files together have to fit."""


class Kind(IntEnum):
    """What an entry is."""

    FILE = 0
    """Mode and time are the receiver's own affair."""
    KEPT_FILE = 1
    """With its mode and time."""
    FOLDER = 2
    """With these, too; it has no bytes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder."""

    path: str
    size: int = 0
    """Bytes."""
    sha256: str = "0" * 64
    """Lower-case hex; of a folder nothing."""
    kind: Kind = Kind.FILE
    mode: int = 0
    mtime_ns: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether it has no bytes."""
        return self.kind is Kind.FOLDER

    @property
    def name(self) -> str:
        """The last name of its path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The rest of the path."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a session carries, in the order of its bytes."""

    entries: tuple[Entry, ...]

    @property
    def files(self) -> list[Entry]:
        """Those that have bytes, or could."""
        return [entry for entry in self.entries if not entry.is_folder]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.size for entry in self.entries)

    @property
    def single(self) -> Entry | None:
        """The file, when a single one is sent by itself, which the receiver keeps as it keeps any new file."""
        first = self.entries[0]
        return first if len(self.entries) == 1 and first.kind is Kind.FILE else None

    @property
    def label(self) -> str:
        """For people: the file's name, or how many there are."""
        single = self.single
        return single.path if single else f"{len(self.files)} files"

    def encode(self) -> bytes:
        """The entries."""
        return b"".join(map(_encoded, self.entries))

    def head(self, first: int = 0) -> bytes:
        """The head of the stream that begins with byte `first` of all files' bytes."""
        single = self.single
        if single is not None and first == 0:
            return Manifest(single.path, single.size, single.sha256).encode()
        body = self.encode()
        return HEAD.pack(MAGIC, VERSION, len(body), first) + body

    @classmethod
    def take(cls, head: bytearray) -> "tuple[Contents, int] | None":
        """Remove the head from a stream: what it carries, and its first byte. None when it is not all there yet.
        Raises FileError."""
        if len(head) < PREFIX.size or head[: len(MAGIC)] != MAGIC or head[len(MAGIC)] != VERSION:
            manifest = Manifest.take(head)
            if manifest is None:
                return None
            return cls((Entry(manifest.name, manifest.size, manifest.sha256),)), 0
        if len(head) < HEAD.size:
            return None
        _, _, length, first = HEAD.unpack_from(head)
        if length > MOST_BYTES:
            raise _refused(f"a list of {length} bytes, and {MOST_BYTES} are the most")
        if len(head) < HEAD.size + length:
            return None
        contents = cls.decode(bytes(head[HEAD.size : HEAD.size + length]))
        if first > contents.size:
            raise _refused("it begins behind its end")
        del head[: HEAD.size + length]
        return contents, first

    @classmethod
    def decode(cls, body: bytes) -> "Contents":
        """Read the entries. Raises FileError."""
        entries = tuple(_decoded(body))
        if not entries:
            raise _refused("it is empty")
        check_paths(entries)
        return cls(entries)


def check_paths(entries: tuple[Entry, ...]) -> None:
    """Raises FileError for paths that cannot stand in one folder together, or that no receiver takes."""
    if len(entries) > MOST_ENTRIES:
        raise _refused(f"{len(entries)} files and folders, and {MOST_ENTRIES} are the most")
    taken: set[str] = set()
    files: set[str] = set()
    above: set[str] = set()
    for entry in entries:
        if problem := unsafe_path(entry.path):
            raise FileError(f"the name {entry.path!r:.80} is refused: {problem}", Reason.REFUSED_FILE)
        if entry.path in taken:
            raise FileError(f"two files have the name {entry.path}", Reason.REFUSED_FILE)
        taken.add(entry.path)
        if not entry.is_folder:
            files.add(entry.path)
        folder = entry.folder
        while folder and folder not in above:
            above.add(folder)
            folder = folder.rpartition("/")[0]
    if both := files & above:
        raise FileError(f"{min(both)} is a file and a folder", Reason.REFUSED_FILE)
    if sum(entry.size for entry in entries) > _MOST_SIZE:
        raise _refused("its size is not a size")


def unsafe_path(path: str) -> str | None:
    """Why a path from the network may not be used below a folder; None when it may."""
    names = path.split("/")
    if len(names) > MOST_NAMES:
        return "it is too deep"
    for name in names:
        if problem := unsafe_name(name):
            return problem
    return "it is too long" if len(path.encode()) > PATH_MAX_BYTES else None


def _encoded(entry: Entry) -> bytes:
    path = entry.path.encode()
    digest = bytes.fromhex(entry.sha256)
    return ENTRY.pack(entry.kind, entry.mode, len(path), entry.mtime_ns, entry.size, digest) + path


def _decoded(body: bytes) -> Iterator[Entry]:
    at = 0
    count = 0
    while at < len(body):
        if len(body) - at < ENTRY.size:
            raise _refused("an entry is cut off")
        kind, mode, length, mtime_ns, size, digest = ENTRY.unpack_from(body, at)
        at += ENTRY.size
        count += 1
        if count > MOST_ENTRIES:
            raise _refused(f"more than {MOST_ENTRIES} files and folders")
        if kind not in tuple(Kind) or mode & ~MODE_BITS or length > len(body) - at:
            raise _refused("an entry has a value that it cannot have")
        if kind == Kind.FILE and (mode or mtime_ns):
            raise _refused("a file without mode and time has them")
        if kind == Kind.FOLDER and (size or any(digest)):
            raise _refused("a folder has bytes")
        if size > _MOST_SIZE:
            raise _refused("a size is not a size")
        try:
            path = body[at : at + length].decode()
        except UnicodeDecodeError:
            raise _refused("a name is not text") from None
        at += length
        yield Entry(path, size, digest.hex(), Kind(kind), mode, mtime_ns)


def _refused(why: str) -> FileError:
    return FileError(f"the list of files is refused: {why}", Reason.REFUSED_FILE)
