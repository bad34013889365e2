"""Files by place in folders: what is sent is read where it lies, and what is received comes together beside its final
name, as `.NAME.data-XXXXXXXX` and `.NAME.syms-XXXXXXXX` (symbols of blocks that are not whole).

These two stay when a receiver is stopped, and the next one goes on with them. The eight digits are of what the object
is. A file gets its name when it is whole, right, and synced to disk.
"""

import contextlib
import errno
import gzip
import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar, Final

from hosts.programs.gathering import PIECE_BYTES
from hosts.programs.naming import Existing, check_folder, check_space, give_name, taken, unwritable
from hosts.storage import CacheControl, Content, Room, Space
from hosts.wire.manifest import FileError, Manifest, unsafe_name

MOST_OPEN: Final = 64
"""Files that are open for reading at a time (ours)."""
FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class FileBytes:
    """A file that is read while it is sent. Raises FileError when it cannot be, or has changed since."""

    _open: ClassVar[OrderedDict["FileBytes", int]] = OrderedDict()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = _state(os.stat(path))
        self.size = self._state[0]

    def read(self, begin: int, count: int) -> bytes:
        """`count` bytes from `begin` on."""
        try:
            data = os.pread(self._descriptor(), count, begin)
        except OSError as error:
            raise FileError(f"{self.path}: {error.strerror}") from None
        if len(data) < min(count, self.size - begin):
            raise FileError(f"{self.path}: it became shorter while it was sent")
        return data

    def _descriptor(self) -> int:
        files = FileBytes._open
        found = files.get(self)
        if found is not None:
            files.move_to_end(self)
        else:
            found = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            files[self] = found
            if len(files) > MOST_OPEN:
                os.close(files.popitem(last=False)[1])
        if _state(os.fstat(found)) != self._state:
            raise FileError(f"{self.path}: it changed while it was sent")
        return found

    def close(self) -> None:
        """Close the file."""
        found = FileBytes._open.pop(self, None)
        if found is not None:
            os.close(found)


class CodedBytes:
    """A file's coded form, in a nameless file of its own."""

    def __init__(self, path: Path) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it is read as long as it is sent)
        with path.open("rb") as plain, gzip.GzipFile(fileobj=self._file, mode="wb", mtime=0) as coded:
            while piece := plain.read(PIECE_BYTES):
                coded.write(piece)
        self._file.flush()
        self.size = os.fstat(self._file.fileno()).st_size

    def read(self, begin: int, count: int) -> bytes:
        """`count` bytes from `begin` on."""
        return os.pread(self._file.fileno(), count, begin)

    def close(self) -> None:
        """The file goes."""
        self._file.close()


def _state(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_size, found.st_mtime_ns, found.st_ino


def content_of_file(
    path: Path,
    name: str | None = None,
    *,
    coded: bool = False,
    priority: float = 1.0,
    turns: int = 0,
    cache: CacheControl = "",
) -> Content:
    """A file to be sent, under its own or another name; `coded`: with gzip. It is read once for its digests. Raises
    FileError."""
    name = name or path.name
    if problem := unsafe_name(name):
        raise FileError(f"{path}: receivers would refuse the name: {problem}")
    try:
        data = FileBytes(path)
        if not path.is_file():
            raise FileError(f"{path}: not a file")
        sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
        size = 0
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                sha256.update(piece)
                md5.update(piece)
                size += len(piece)
        if size != data.size:
            raise FileError(f"{path}: it changed while it was read")
        manifest = Manifest(name, data.size, sha256.hexdigest())
        bytes_sent, encoding = (CodedBytes(path), "gzip") if coded else (data, "")
        return Content(manifest, md5.digest(), bytes_sent, encoding, priority, turns, cache)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None


class FileSpace:
    """A file that is written in any order; open for as long as one call takes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, begin: int, count: int) -> bytes:
        """What is there."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            return os.pread(descriptor, count, begin)
        except OSError as error:
            raise unwritable(self.path, error) from None
        finally:
            os.close(descriptor)

    def write(self, begin: int, data: bytes) -> None:
        """Put bytes there. Raises FileError."""
        try:
            descriptor = os.open(self.path, FLAGS, 0o666)
            try:
                rest = memoryview(data)
                while rest:
                    done = os.pwrite(descriptor, rest, begin)
                    begin, rest = begin + done, rest[done:]
            finally:
                os.close(descriptor)
        except OSError as error:
            raise unwritable(self.path, error) from None

    def next_written(self, begin: int) -> int | None:
        """After a hole of the file, which file systems tell to their blocks (lseek(2), SEEK_DATA)."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            return os.lseek(descriptor, begin, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return None
            raise unwritable(self.path, error) from None
        finally:
            os.close(descriptor)

    def clear(self) -> None:
        """Begin with nothing."""
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()


class FolderRoom:
    """One object's, in a folder."""

    lasts = True

    def __init__(
        self, folder: Path, name: str, mark: str, existing: Existing, kept: Callable[[Manifest], None]
    ) -> None:
        self._folder = folder
        self._existing = existing
        self._kept = kept
        self._files = [FileSpace(folder / f".{name}.{kind}-{mark}") for kind in ("data", "syms")]
        self.object: Space = self._files[0]
        self.symbols: Space = self._files[1]
        self._decoded = FileSpace(folder / f".{name}.file-{mark}")

    @property
    def is_begun(self) -> bool:
        """Whether there is something of it."""
        return any(file.path.exists() for file in self._files)

    @property
    def room_bytes(self) -> int:
        """Of the disk, that its object has already."""
        path = self._files[0].path
        return 512 * path.lstat().st_blocks if path.exists() else 0

    def clear(self) -> None:
        """Begin with nothing."""
        try:
            for file in self._files:
                file.clear()
        except OSError as error:
            raise unwritable(self._folder, error) from None

    def keep(self, manifest: Manifest, pieces: Iterable[bytes] | None) -> None:
        """Give the file its name. Raises FileError."""
        final, whole = self._folder / manifest.name, self._files[0]
        if pieces is not None:
            whole, at = self._decoded, 0
            whole.clear()
            for piece in pieces:
                whole.write(at, piece)
                at += len(piece)
        try:
            descriptor = os.open(whole.path, FLAGS, 0o666)
            try:
                os.truncate(descriptor, manifest.size)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            give_name(whole.path, final, self._existing)
        except FileExistsError:
            raise taken(final) from None
        except OSError as error:
            raise unwritable(self._folder, error) from None
        self.clear()
        self._kept(manifest)


class FolderShelf:
    """A folder that files come into. One that is there already, with the same bytes, is left as it is."""

    def __init__(self, folder: Path, existing: Existing, on_file: Callable[[Manifest, CacheControl], None]) -> None:
        """`on_file` is told of each file that is whole, or there already, and what its sender says to caches. Raises
        FileError."""
        self._folder = folder
        self._existing = existing
        self._on_file = on_file
        self._rooms: dict[str, FolderRoom] = {}
        self.refusal: FileError | None = None
        """Why a file has no room here, the last one that has none."""
        check_folder(folder)

    @property
    def begun(self) -> str:
        """The files of which something has come, and not all."""
        names = [name for name, room in self._rooms.items() if room.is_begun]
        return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")

    def room(self, name: str, sha256: str, key: str, cache: CacheControl = "", size: int = 0) -> Room | None:
        """Room for a file; None: it is there already. Raises FileError when another one of its name is, or the folder
        has too little room."""
        try:
            return self._room(name, sha256, key, cache, size)
        except FileError as error:
            self.refusal = error
            raise

    def _room(self, name: str, sha256: str, key: str, cache: CacheControl, size: int) -> Room | None:
        final = self._folder / name
        if final.exists():
            found = self._there(final, sha256)
            if found is not None:
                self._on_file(found, cache)
                return None
            if self._existing == "refuse" or final.is_dir():
                raise taken(final)
        mark = hashlib.sha256(key.encode()).hexdigest()[:8]
        room = FolderRoom(self._folder, name, mark, self._existing, lambda manifest: self._on_file(manifest, cache))
        try:
            check_space(self._folder, size - room.room_bytes)
        except OSError as error:
            raise unwritable(final, error) from None
        self._rooms[name] = room
        return room

    def _there(self, path: Path, sha256: str) -> Manifest | None:
        if not sha256:  # nobody has said what it is
            return None
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            return Manifest(path.name, path.stat().st_size, found) if found == sha256 else None
        except OSError:
            return None
