"""A file that is not whole yet: beside its final name as `.NAME.part-XXXXXXXX`, with the first digits of its SHA-256.

A larger one has a journal, `.NAME.hash-XXXXXXXX`: after each block, the SHA-256 of the file up to there. An interrupted
reception goes on from the last block whose hash is right, whatever happened to either file since. A part becomes the
file only when its size and SHA-256 are right and it is synced to disk. Of a larger one the disk is asked to keep the
room that it takes, before any of it comes.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import hashlib
import os
import re
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hosts.programs.naming import Existing, give_name
from hosts.wire.contents import Entry, Kind
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

_LEFT: Final = re.compile(r"(\..+)\.(part|hash)-([0-9a-f]{8})", re.DOTALL)
"""Names of files that are not whole yet, and of their journals. Whoever writes a part has it locked (flock), and a
killed program's is free."""
BLOCK_BYTES: Final = 4 << 20
"""What an interrupted reception loses at most, and what of it is kept at least (ours)."""
JOURNAL: Final = struct.Struct("!4sBxxxIQ32s")
"""Its head: magic, version, bytes of a block, size and SHA-256 of the file. 32 bytes follow for each block."""
JOURNAL_MAGIC: Final = b"CPRT"
JOURNAL_VERSION: Final = 1
DIGEST_BYTES: Final = 32
_READ_BYTES: Final = 1 << 20
_KEEP_SIZE: Final = 1  # linux/falloc.h: FALLOC_FL_KEEP_SIZE
_UNABLE: Final = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EPERM)
"""What a file system says that keeps no room for a file, or a kernel or container that lets nobody ask."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def part_name(entry: Entry) -> str:
    """Of an entry's part."""
    return f".{entry.name}.part-{entry.sha256[:8]}"


def journal_name(entry: Entry) -> str:
    """Of its journal."""
    return f".{entry.name}.hash-{entry.sha256[:8]}"


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def reserve(file: int, start: int, length: int) -> None:
    """Have the disk keep room for so many bytes of a file, whose size stays as it is, where it can (fallocate(2); the C
    library's posix_fallocate writes them where it cannot). Raises OSError when there is no such room."""
    if length <= 0:
        return
    while _libc().fallocate(file, _KEEP_SIZE, ctypes.c_int64(start), ctypes.c_int64(length)):
        error = ctypes.get_errno()
        if error in _UNABLE:
            return
        if error != errno.EINTR:
            raise OSError(error, os.strerror(error))


def _to_disk(file: int, start: int) -> None:
    """Have the disk begin with a block, or wait for its turn: what is left for the end to sync, while the sender waits,
    is less than the disk's queue and not all that memory holds. (Linux writes what it is to forget.)"""
    with contextlib.suppress(OSError):  # a file system that does not know: `become` syncs all of it
        os.posix_fadvise(file, start, BLOCK_BYTES, os.POSIX_FADV_DONTNEED)


class Part:
    """One, open and locked. Raises FileError when somebody else writes it, OSError when it cannot be written."""

    def __init__(self, folder: int, entry: Entry, umask: int) -> None:
        """`folder`: its descriptor."""
        self.entry = entry
        self.written = 0
        """Bytes that are right so far, as far as is known."""
        self._folder = os.dup(folder)
        self._umask = umask
        self._digest = hashlib.sha256()
        self._journal: int | None = None
        self._file = -1
        try:
            self._file = self._open_locked()
            if entry.size > BLOCK_BYTES:
                self._journal = _open(journal_name(entry), folder)
        except BaseException:
            self.close()
            raise

    def _open_locked(self) -> int:
        while True:
            file = _open(part_name(self.entry), self._folder)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:  # others: a file system without locks
                if error.errno == errno.EWOULDBLOCK:
                    os.close(file)
                    raise FileError(
                        f"{self.entry.path}: another reception writes it already", Reason.CANNOT_WRITE
                    ) from None
            names = os.fstat(file).st_nlink
            if names == 1:
                return file
            if names > 1:  # it has its final name, and who gave it was killed then: it is no part any more
                _unlink(part_name(self.entry), self._folder)
            os.close(file)  # or somebody tidied up between opening and locking

    def resume(self, going: Callable[[], bool] = lambda: True) -> None:
        """Take over what is there and right. It takes its time: as much of it as there is while `going`."""
        if self._journal is None:
            return
        known = self._read_journal()
        digest = hashlib.sha256()
        right = 0
        for expected in known:
            block = digest.copy()
            if not going() or not self._hash_block(block, right * BLOCK_BYTES) or block.digest() != expected:
                break
            digest = block
            right += 1
        self._digest = digest
        self.written = right * BLOCK_BYTES

    def begin(self) -> None:
        """Write from `written` on: what is there beyond it is no more."""
        os.ftruncate(self._file, self.written)
        os.lseek(self._file, self.written, os.SEEK_SET)
        if self._journal is not None:
            reserve(self._file, self.written, self.entry.size - self.written)
            head = JOURNAL.pack(
                JOURNAL_MAGIC, JOURNAL_VERSION, BLOCK_BYTES, self.entry.size, bytes.fromhex(self.entry.sha256)
            )
            os.pwrite(self._journal, head, 0)
            os.ftruncate(self._journal, JOURNAL.size + self.written // BLOCK_BYTES * DIGEST_BYTES)

    @property
    def room_bytes(self) -> int:
        """What it takes of the disk already."""
        return max(self.written, os.fstat(self._file).st_blocks * 512)  # stat(2): of 512 bytes each

    def _read_journal(self) -> list[bytes]:
        """The hashes of blocks that it has; none when it is another file's, or damaged."""
        assert self._journal is not None
        head = os.pread(self._journal, JOURNAL.size, 0)
        expected = (JOURNAL_MAGIC, JOURNAL_VERSION, BLOCK_BYTES, self.entry.size, bytes.fromhex(self.entry.sha256))
        if len(head) < JOURNAL.size or JOURNAL.unpack(head) != expected:
            return []
        most = self.entry.size // BLOCK_BYTES
        hashes = os.pread(self._journal, most * DIGEST_BYTES, JOURNAL.size)
        whole = len(hashes) // DIGEST_BYTES
        return [hashes[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES] for at in range(whole)]

    def _hash_block(self, digest: "hashlib._Hash", start: int) -> bool:
        """Add a block of the file; whether it is all there."""
        at = start
        while at < start + BLOCK_BYTES:
            piece = os.pread(self._file, min(_READ_BYTES, start + BLOCK_BYTES - at), at)
            if not piece:
                return False
            digest.update(piece)
            at += len(piece)
        return True

    def write(self, data: memoryview) -> None:
        """Append. Raises OSError."""
        while data:
            piece = data[: BLOCK_BYTES - self.written % BLOCK_BYTES]
            count = os.write(self._file, piece)
            self._digest.update(piece[:count])
            self.written += count
            if self._journal is not None and self.written % BLOCK_BYTES == 0:
                place = JOURNAL.size + (self.written // BLOCK_BYTES - 1) * DIGEST_BYTES
                os.pwrite(self._journal, self._digest.digest(), place)
                _to_disk(self._file, self.written - BLOCK_BYTES)
            data = data[count:]

    @property
    def is_right(self) -> bool:
        """Whether it is the whole file."""
        return self.written == self.entry.size and self._digest.hexdigest() == self.entry.sha256

    def become(self, existing: Existing) -> None:
        """Sync it and give it its name; the folder is left to be synced. Raises OSError; FileExistsError where
        something else has the name."""
        assert self.is_right
        entry = self.entry
        if entry.kind is Kind.KEPT_FILE:
            os.fchmod(self._file, entry.mode & ~self._umask)
            with contextlib.suppress(OSError):  # a file system that has no such time
                os.utime(self._file, ns=(entry.mtime_ns, entry.mtime_ns))
        else:
            os.fchmod(self._file, 0o666 & ~self._umask)
        os.fsync(self._file)
        give_name(part_name(entry), entry.name, existing, self._folder)
        _unlink(journal_name(entry), self._folder)
        self.close()

    def leave(self) -> int:
        """End without the whole file: what can be resumed stays, which are so many bytes."""
        kept = self.written // BLOCK_BYTES * BLOCK_BYTES if self._journal is not None else 0
        if not kept:
            self.remove()
        else:
            self.close()
        return kept

    def remove(self) -> None:
        """End without the file, and leave nothing."""
        _unlink(part_name(self.entry), self._folder)
        _unlink(journal_name(self.entry), self._folder)
        self.close()

    def close(self) -> None:
        """Leave everything as it is."""
        for descriptor in (self._file, self._journal, self._folder):
            if descriptor is not None and descriptor >= 0:
                with contextlib.suppress(OSError):  # what could not be written shows in the hashes
                    os.close(descriptor)


def is_same(entry: Entry, folder: int, going: Callable[[], bool]) -> bool:
    """Whether a file that is there is what the entry says. It takes its time, while `going`."""
    try:
        file = os.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    try:
        about = os.fstat(file)
        if about.st_size != entry.size or not stat.S_ISREG(about.st_mode):
            return False
        digest = hashlib.sha256()
        while going() and (piece := os.read(file, _READ_BYTES)):
            digest.update(piece)
        return digest.hexdigest() == entry.sha256
    except OSError:
        return False
    finally:
        os.close(file)


def _open(name: str, folder: int) -> int:
    descriptor = os.open(name, _FLAGS, 0o600, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EEXIST, f"{name} is no regular file")
    return descriptor


def _unlink(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)


def remove_leftovers(folder: Path, *, resumable: bool) -> Iterator[str]:
    """Remove the parts of receivers that were killed, and name them; those with a journal only where `resumable`."""
    names = sorted(path.name for path in folder.iterdir())
    for found in filter(None, map(_LEFT.fullmatch, names)):
        part, journal = (folder / f"{found[1]}.{kind}-{found[3]}" for kind in ("part", "hash"))
        if found[2] == "hash" and part.name in names:
            continue
        if not resumable and {journal.name, part.name} <= set(names):
            continue
        try:
            with (folder / found[0]).open("rb") as file:
                about = os.stat(folder / found[0], follow_symlinks=False)
                if not stat.S_ISREG(about.st_mode):
                    continue
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for path in (part, journal):
                    path.unlink(missing_ok=True)
        except OSError:
            continue
        yield found[0]
