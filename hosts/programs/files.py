"""Files over a session's stream: a manifest first (hosts/wire/manifest.py), then the bytes.

A received file is written beside its final name as `.NAME.part-XXXXXXXX`, checked against the manifest's size and
SHA-256, synced to disk and only then given its name. So the final name never shows a half or wrong file.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Literal, Self, TypeAlias

from hosts.wire.manifest import FileError, Manifest, unsafe_name
from hosts.wire.reason import Reason

PIECE_BYTES: Final = 1 << 20
"""What is read from the disk at once."""
PART: Final = re.compile(r"\..+\.part-[0-9a-f]{8}", re.DOTALL)
"""Names of files that are not whole yet. Whoever writes one has it locked (flock), and a killed program's is free."""
Existing: TypeAlias = Literal["refuse", "replace"]


class FileSource:
    """A file as a stream. Raises FileError when it cannot be read, or changes while it is sent."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self._file: BinaryIO | None = None
        try:
            self._file = path.open("rb")
            if not path.is_file():
                raise FileError(f"{path}: not a regular file")
            digest = hashlib.sha256()
            size = 0
            while piece := self._file.read(PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
            self._file.seek(0)
        except OSError as error:
            self.close()
            raise FileError(f"{path}: {error.strerror}") from None
        except FileError:
            self.close()
            raise
        self.path = path
        self.manifest = Manifest(name or path.name, size, digest.hexdigest())
        if problem := unsafe_name(self.manifest.name):
            self.close()
            raise FileError(f"{path}: receivers would refuse the name: {problem}")
        self._head = self.manifest.encode()
        self.total_bytes = len(self._head) + size
        """Of the stream."""
        self._left = size

    def rewind(self) -> None:
        """Begin again."""
        assert self._file is not None
        self._file.seek(0)
        self._head = self.manifest.encode()
        self._left = self.manifest.size

    def read(self, space: int) -> bytes:
        """The next bytes of the stream, at most `space`; empty at its end."""
        if self._head:
            piece, self._head = self._head[:space], self._head[space:]
            return piece
        if not self._left or self._file is None:
            return b""
        try:
            piece = self._file.read(min(space, self._left, PIECE_BYTES))
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror}") from None
        if not piece:
            raise FileError(f"{self.path}: it became shorter while it was sent")
        self._left -= len(piece)
        return piece

    @property
    def exhausted(self) -> bool:
        """Whether `read` has given everything."""
        return not self._head and not self._left

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class FileSink:
    """Turns a stream back into a file in a folder. Use as a context: what is unfinished at its end is removed."""

    is_of_file: Final = True
    """See `Sink`."""

    def __init__(
        self, folder: Path, existing: Existing = "refuse", check: Callable[[Manifest], None] = lambda manifest: None
    ) -> None:
        """`check` raises FileError for a file that is not wanted. Raises FileError when the folder cannot be made or
        written to."""
        self.folder = folder
        self.existing = existing
        self._check = check
        self.manifest: Manifest | None = None
        self.path: Path | None = None
        """The final name, once the file has it."""
        self.written = 0
        """Bytes of the file."""
        self.opened_at: float | None = None
        """When the first bytes came, on the monotonic clock: what a receiver's goodput is measured from."""
        self._head = bytearray()
        self._part: Path | None = None
        self._file: BinaryIO | None = None
        self._digest = hashlib.sha256()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{folder}: {error.strerror}", Reason.CANNOT_WRITE) from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise FileError(f"{folder}: {os.strerror(errno.EACCES)}", Reason.CANNOT_WRITE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def write(self, data: bytes) -> None:
        """Take the next bytes of the stream. Raises FileError."""
        if self._file is None:
            self._head += data
            if self.manifest is not None or not self._read_head():
                return
            data = bytes(self._head)
            self._head.clear()
        assert self.manifest is not None
        assert self._file is not None
        if self.written + len(data) > self.manifest.size:
            raise FileError("more bytes arrived than the manifest says", Reason.BROKEN_STREAM)
        try:
            self._file.write(data)
        except OSError as error:
            raise unwritable(self.folder, error) from None
        self._digest.update(data)
        self.written += len(data)

    def _read_head(self) -> bool:
        """Take the manifest from the head, when it is all there, and open the part file."""
        manifest = Manifest.take(self._head)
        if manifest is None:
            return False
        final = self.folder / manifest.name
        if final.exists() and (self.existing == "refuse" or final.is_dir()):
            raise taken(final)
        self._check(manifest)
        try:
            space = os.statvfs(self.folder)
            if space.f_bavail * space.f_frsize < manifest.size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._part = self.folder / f".{manifest.name}.part-{secrets.token_hex(4)}"
            self._file = self._part.open("xb")
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._part = self._part if self._file else None
            raise unwritable(self.folder, error) from None
        self.manifest = manifest
        self.opened_at = time.monotonic()
        return True

    def finish(self) -> Path:
        """The stream has ended: check, sync, and give the file its name. Raises FileError."""
        if self.manifest is None or self._file is None or self._part is None:
            raise FileError("the stream ended before the manifest did", Reason.BROKEN_STREAM)
        if self.written != self.manifest.size:
            raise FileError("the stream ended before the file did", Reason.BROKEN_STREAM)
        if self._digest.hexdigest() != self.manifest.sha256:
            raise FileError(f"{self.manifest.name}: {Reason.WRONG_HASH.text}", Reason.WRONG_HASH)
        final = self.folder / self.manifest.name
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            give_name(self._part, final, self.existing)
            self._part = None
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except FileExistsError:
            raise taken(final) from None
        except OSError as error:
            raise unwritable(self.folder, error) from None
        self.path = final
        return final

    def discard(self) -> None:
        """Remove what is unfinished."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # what could not be flushed is removed next
                self._file.close()
            self._file = None
        if self._part is not None:
            self._part.unlink(missing_ok=True)
            self._part = None

    def describe(self) -> Mapping[str, object]:
        """For a summary."""
        manifest = self.manifest
        return {
            "file": manifest.name if manifest else None,
            "path": str(self.path) if self.path else None,
            "size_bytes": manifest.size if manifest else None,
            "sha256": manifest.sha256 if manifest else None,
        }


def give_name(part: Path, final: Path, existing: Existing) -> None:
    """Have a file that is whole under its final name. Raises OSError."""
    if existing == "replace":
        part.replace(final)
        return
    try:
        os.link(part, final)  # unlike rename, it never overwrites what appeared meanwhile
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        if final.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        part.rename(final)  # a file system without hard links
    else:
        part.unlink()


def taken(final: Path) -> FileError:
    """Of a name that a file has already."""
    what = "" if final.is_dir() else " (--replace puts the new one in its place)"
    return FileError(f"{final}: {os.strerror(errno.EEXIST)}{what}", Reason.REFUSED_FILE)


def unwritable(path: Path, error: OSError) -> FileError:
    """Of a folder, or a file in it."""
    return FileError(f"{path}: cannot write: {error.strerror}", Reason.CANNOT_WRITE)
