"""What applications of a simulation send and take without a disk: data without end, and a file that is checked as it
comes and not kept, so that a thousand receivers need no thousand copies.
"""

import hashlib
from typing import Final

from hosts.wire.manifest import FileError, Manifest
from hosts.wire.reason import Reason


class EndlessSource:
    """What a sender of real-time data sends: as much as it may."""

    exhausted = False

    def read(self, space: int) -> bytes:
        """So many bytes, whatever they are."""
        return bytes(space)


class CheckingSink:
    """Takes the stream of `hosts.programs.files`: a manifest, then the file."""

    is_of_file: Final = True
    """See `Sink`."""

    def __init__(self) -> None:
        self.manifest: Manifest | None = None
        self.written = 0
        """Bytes of the file so far."""
        self.sha256: str | None = None
        """Of the whole file, lower-case hex, once it has come and is the manifest's."""
        self._head = bytearray()
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises FileError."""
        if self.manifest is None:
            self._head += data
            self.manifest = Manifest.take(self._head)
            if self.manifest is None:
                return
            data = bytes(self._head)
            self._head.clear()
        if self.written + len(data) > self.manifest.size:
            raise FileError("more bytes arrived than the manifest says", Reason.BROKEN_STREAM)
        self._digest.update(data)
        self.written += len(data)

    def finish(self) -> None:
        """The stream has ended: check. Raises FileError."""
        if self.manifest is None:
            raise FileError("the stream ended before the manifest did", Reason.BROKEN_STREAM)
        if self.written != self.manifest.size:
            raise FileError("the stream ended before the file did", Reason.BROKEN_STREAM)
        if self._digest.hexdigest() != self.manifest.sha256:
            raise FileError(f"{self.manifest.name}: {Reason.WRONG_HASH.text}", Reason.WRONG_HASH)
        self.sha256 = self.manifest.sha256
