"""A file that has come, and which of a session's files are wanted."""

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from hosts.endpoint import Deliver, KeepFile
from hosts.protocols.webrc.flute.content import decoded
from hosts.storage import Room
from hosts.wire.manifest import Manifest

EVERY_NAME: Final = "*"


class Received(NamedTuple):
    """A file that is whole, and is what its FDT says."""

    manifest: Manifest
    room: Room
    content_encoding: str
    pieces: Callable[[], Iterator[bytes]]
    """Of what was transferred."""

    @property
    def data(self) -> bytes:
        """All of the file."""
        return b"".join(decoded(self.pieces(), self.content_encoding, self.manifest.size))

    def effect(self, offset: int) -> KeepFile | Deliver:
        """The file to the application: as it lies on its disk, or as bytes behind so many others."""
        if not self.room.lasts:
            return Deliver(offset, self.manifest.encode() + self.data)
        if not self.content_encoding:
            return KeepFile(self.manifest, self.room)
        return KeepFile(self.manifest, self.room, decoded(self.pieces(), self.content_encoding, self.manifest.size))


class Choice(NamedTuple):
    """Which of a session's files are received."""

    pattern: str = EVERY_NAME
    """Of their names (fnmatch)."""
    newest: bool = False
    """Only the one that was described last, of several the one with the highest TOI."""

    def wants(self, name: str) -> bool:
        """Whether it may be one of them."""
        return fnmatchcase(name, self.pattern)
