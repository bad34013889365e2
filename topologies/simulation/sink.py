"""What applications of a simulation send and take without a disk: data without end, and a file that is checked as it
comes and not kept, so that a thousand receivers need no thousand copies.
"""

import hashlib
from typing import Final

from hosts.wire.contents import Contents
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason


class EndlessSource:
    """What a sender of real-time data sends: as much as it may."""

    exhausted = False

    def read(self, space: int) -> bytes:
        """So many bytes, whatever they are."""
        return bytes(space)


class CheckingSink:
    """Takes the stream of `hosts.programs.files` that has one file: its head, then the bytes."""

    is_of_file: Final = True
    """See `Sink`."""

    def __init__(self) -> None:
        self.contents: Contents | None = None
        self.written = 0
        """Bytes of the file so far."""
        self.sha256: str | None = None
        """Of the whole file, lower-case hex, once it has come and is the one that the head says."""
        self._head = bytearray()
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises FileError."""
        if self.contents is None:
            self._head += data
            taken = Contents.take(self._head)
            if taken is None:
                return
            self.contents = taken[0]
            data = bytes(self._head)
            self._head.clear()
        if self.written + len(data) > self.contents.size:
            raise FileError("more bytes arrived than the manifest says", Reason.BROKEN_STREAM)
        self._digest.update(data)
        self.written += len(data)

    def finish(self) -> None:
        """The stream has ended: check. Raises FileError."""
        if self.contents is None:
            raise FileError("the stream ended before the manifest did", Reason.BROKEN_STREAM)
        if self.written != self.contents.size:
            raise FileError("the stream ended before the file did", Reason.BROKEN_STREAM)
        expected = self.contents.entries[0].sha256
        if self._digest.hexdigest() != expected:
            raise FileError(f"{self.contents.label}: {Reason.WRONG_HASH.text}", Reason.WRONG_HASH)
        self.sha256 = expected
