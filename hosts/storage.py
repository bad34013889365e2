"""Files by place: for protocols that send and receive them in any order, and that keep no file in memory.

A program gives a sender `Content` to read from, and a receiver a `Shelf` with room for what comes. Both are called like
functions, at once, and do the reading and writing of files that a protocol core does not; their memory stands in for
them where there is no disk (`BytesContent`, `MemoryShelf`). What cannot be read or written raises FileError.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from hosts.wire.manifest import Manifest

CacheControl: TypeAlias = str | int
"""What is said to caches of a file: a word of `CACHE_WORDS`, or from when on what they have of it is old, Unix seconds;
empty: nothing (3GPP TS 26.346, 7.2.10)."""
CACHE_WORDS: Final = ("no-cache", "max-stale")
_PAGE: Final = 4096
"""Bytes of a space in memory that are there or not (ours)."""
_NOTHING: Final = bytes(_PAGE)


class Readable(Protocol):
    """Bytes that can be read from any place on."""

    @property
    def size(self) -> int:
        """How many there are."""

    def read(self, begin: int, count: int) -> bytes:
        """`count` of them from `begin` on; fewer only at the end."""

    def close(self) -> None:
        """They are read no more."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file to be sent."""

    manifest: Manifest
    md5: bytes
    """Of the file."""
    data: Readable
    """What is transferred: the file, or its coded form."""
    encoding: str = ""
    """`gzip` where `data` is coded so."""
    priority: float = 1.0
    """How large a share it has of the packets, for its size."""
    turns: int = 0
    """How often all of it is sent; 0: without end."""
    cache: CacheControl = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A sender's files become others."""

    added: Sequence[Content] = ()
    removed: Sequence[str] = ()
    """Names. A name may be among both: then the file is another one from now on."""
    is_last: bool = False
    """No more files follow."""


class Library(ABC):
    """A sender's files, in place of a stream."""

    @abstractmethod
    def take(self) -> FileChange | None:
        """What has changed since it was asked last; None: nothing."""


class Space(Protocol):
    """Bytes that are written and read in any order."""

    def read(self, begin: int, count: int) -> bytes:
        """What is there; fewer where nothing has been written yet, or zeros."""

    def write(self, begin: int, data: bytes) -> None:
        """Put bytes there."""

    def next_written(self, begin: int) -> int | None:
        """The first place from `begin` on at which anything may have been written; None: there is none."""


class Room(Protocol):
    """Where one object comes together."""

    lasts: bool
    """Whether a later receiver finds it again."""
    object: Space
    """The object itself."""
    symbols: Space
    """What is known of it so far otherwise."""

    def clear(self) -> None:
        """What is there is of another object, or damaged: begin with nothing."""

    def keep(self, manifest: Manifest, pieces: Iterable[bytes] | None) -> None:
        """The object is whole and right: give the file its name. `pieces`: the file, where the object is a coded form
        of it; None: the object is the file."""


class Shelf(Protocol):
    """A receiver's place for files."""

    def room(self, name: str, sha256: str, key: str, cache: CacheControl = "", size: int = 0) -> Room | None:
        """Room for a file; the same that an earlier receiver left for an object of the same key. None: the file is
        there already (`sha256`: hex, empty where it is not known), or is not wanted. `size`: bytes of the object."""


@dataclass(frozen=True, slots=True)
class BytesContent:
    """Bytes in memory."""

    data: bytes

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.data)

    def read(self, begin: int, count: int) -> bytes:
        """`count` of them from `begin` on."""
        return self.data[begin : begin + count]

    def close(self) -> None:
        """There is nothing to close."""


class MemorySpace:
    """Of a room in memory: it takes as much as has been written, however far that is from the beginning."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}
        self._end = 0

    def read(self, begin: int, count: int) -> bytes:
        """What is there, with zeros where nothing was written."""
        end = min(begin + count, self._end)
        places = [_place(at, end) for at in _parts(begin, end)]
        return b"".join(self._pages.get(number, _NOTHING)[part] for number, part in places)

    def write(self, begin: int, data: bytes) -> None:
        """Put bytes there."""
        end = begin + len(data)
        self._end = max(self._end, end if data else 0)
        for at in _parts(begin, end):
            number, part = _place(at, end)
            page = self._pages.setdefault(number, bytearray(_PAGE))
            page[part] = data[at - begin : at - begin + part.stop - part.start]

    def next_written(self, begin: int) -> int | None:
        """What is there may all have been."""
        return begin if begin < self._end else None


def _parts(begin: int, end: int) -> Iterable[int]:
    """Where each page's part of so many bytes begins."""
    return () if begin >= end else (begin, *range((begin // _PAGE + 1) * _PAGE, end, _PAGE))


def _place(at: int, end: int) -> tuple[int, slice]:
    """A page, and its part from there on."""
    number, first = divmod(at, _PAGE)
    return number, slice(first, min(_PAGE, end - number * _PAGE))


class MemoryRecords:
    """Of a room in memory: what is read was written in one piece, from the same place on."""

    def __init__(self) -> None:
        self._pieces: dict[int, bytes] = {}

    def read(self, begin: int, count: int) -> bytes:
        """What is there."""
        return self._pieces.get(begin, b"")[:count]

    def write(self, begin: int, data: bytes) -> None:
        """Put bytes there."""
        self._pieces[begin] = data

    def next_written(self, begin: int) -> int | None:
        """The next piece."""
        return min((place for place in self._pieces if place >= begin), default=None)


class MemoryRoom:
    """One object's, until it is delivered as a stream."""

    lasts = False

    def __init__(self) -> None:
        self.object: Space = MemorySpace()
        self.symbols: Space = MemoryRecords()

    def clear(self) -> None:
        """Begin with nothing."""
        self.object, self.symbols = MemorySpace(), MemoryRecords()

    def keep(self, manifest: Manifest, pieces: Iterable[bytes] | None) -> None:
        """Nothing is kept here."""


class MemoryShelf:
    """Room for everything."""

    def room(self, name: str, sha256: str, key: str, cache: CacheControl = "", size: int = 0) -> Room | None:
        """Nothing is there yet."""
        return MemoryRoom()
