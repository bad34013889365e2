"""A session's stream as files in a folder.

A received file is written beside its final name (part.py), checked against its size and SHA-256, synced to disk and
only then given its name. So a final name never shows a half or wrong file, and the first files of many are there before
the last have come.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hosts.programs.below import Below
from hosts.programs.naming import Existing, check_space, is_there, taken, unwritable
from hosts.programs.part import BLOCK_BYTES, Part, is_same
from hosts.wire.contents import Contents, Entry
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

FILES_BEHIND: Final = 64
"""Of which the bytes may wait for the disk, and are none of the receiver's buffer (ours: 2 s for 32 files/s)."""


class FileSink:
    """Turns a stream back into files in a folder. Use as a context: at its end, what is unfinished is removed, or kept
    where it can be resumed."""

    is_of_file: Final = True
    """See `Sink`."""

    def __init__(
        self,
        folder: Path,
        existing: Existing = "refuse",
        check: Callable[[Contents], None] = lambda contents: None,
        *,
        resume: bool = False,
        keep: bool = False,
    ) -> None:
        """`check` raises FileError for what is not wanted. `resume`: files that are there with the same bytes, and what
        an earlier reception has kept, need not be received again; `keep`: leave what the next one can resume. Raises
        FileError when the folder cannot be made or written to."""
        self.folder = folder
        self.existing = existing
        self.contents: Contents | None = None
        self.path: Path | None = None
        """The final name of a single file, or the folder of several, once they are all there."""
        self.written = 0
        """Bytes of the files that are there, those that were there before included."""
        self.had = 0
        """What was there before."""
        self.received = 0
        """Bytes of files that have come."""
        self.kept = 0
        """Bytes of an unfinished file that the next reception can resume."""
        self.current: tuple[str, int] = ("", 1)
        """The path of the file that is being written, and which of all it is, from 1 on."""
        self._check = check
        self._resume = resume
        self._keep = keep
        self._below = Below(folder)
        self._prepared: Contents | None = None
        self._stopped = False
        self._there: set[str] = set()  # paths of files that are whole
        self._held = 0
        self._first = 0
        self._head = bytearray()
        self._files: list[Entry] = []
        self._number = 0  # of the file whose bytes come
        self._left = 0  # of its bytes
        self._skip = 0  # of its bytes, that are there already
        self._part: Part | None = None
        self._unchecked = 0  # bytes since the folder was looked for

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    # --- what is there already

    def prepare(self, contents: Contents) -> int:
        """How many of the first bytes of all files are here already. It takes its time, for it reads them. Raises
        FileError for what is not wanted."""
        if self._prepared is not None and self._prepared == contents:
            return self._held
        self._check(contents)
        self._there.clear()
        try:
            lacking = [entry for entry in contents.entries if not self._is_there(entry)]
            files = [entry for entry in lacking if not entry.is_folder]
            self._held = contents.size
            if files:
                self._held = 0
                for entry in contents.files:
                    if entry is files[0]:
                        break
                    self._held += entry.size
                if self._resume and self._below.folder(files[0].folder) is not None:
                    self._part = self._open_part(files[0])
                self._held += self._part_bytes
            kept = self._part.room_bytes if self._part is not None else 0  # for the first of them already
            check_space(self.folder, sum(entry.size for entry in files) - kept)
        except OSError as error:
            raise unwritable(self._writing, error) from None
        self._prepared = contents
        return self._held

    def stop(self) -> None:
        """Look no longer at what is here already: the session is over."""
        self._stopped = True

    def _is_there(self, entry: Entry) -> bool:
        """Whether an entry need not be received. Raises FileError where something else has its name."""
        parent = self._below.folder(entry.folder)
        if parent is None or not is_there(entry.name, parent):
            return False
        final = self.folder / entry.path
        if entry.is_folder:
            if self._below.folder(entry.path) is None:
                raise taken(final)
            return True
        if self._resume and is_same(entry, parent, lambda: not self._stopped):
            self._there.add(entry.path)
            return True
        if self.existing == "refuse" or (final.is_dir() and not final.is_symlink()):
            raise taken(final)
        return False

    @property
    def _part_bytes(self) -> int:
        return self._part.written if self._part is not None else 0

    def _open_part(self, entry: Entry) -> Part:
        folder = self._below.folder(entry.folder, make=True)
        assert folder is not None
        part = Part(folder, entry, self._below.umask)
        if self._resume:
            part.resume(lambda: not self._stopped)
        if self._stopped:
            part.close()
            raise FileError("stopped")
        try:
            part.begin()
        except OSError:
            part.leave()
            raise
        return part

    # --- the stream

    def write(self, data: bytes) -> None:
        """Take the next bytes of the stream. Raises FileError."""
        view = memoryview(data)
        if self.contents is None:
            self._head += data
            if not self._read_head():
                return
            view = memoryview(bytes(self._head))
            self._head.clear()
        try:
            self._take(view)
        except OSError as error:
            raise unwritable(self._writing, error) from None

    def _read_head(self) -> bool:
        """Take the list of files from the head, when it is all there."""
        taken = Contents.take(self._head)
        if taken is None:
            return False
        contents, first = taken
        held = self.prepare(contents)
        if first > held:
            raise FileError(f"the session begins at byte {first}, and {held} are here", Reason.FAILED)
        self.contents = contents
        self._first = first
        self._files = contents.files
        self.written = held
        self.had = self._part_bytes + sum(entry.size for entry in self._files if entry.path in self._there)
        self._number = -1
        try:
            for entry in contents.entries:
                if entry.is_folder:
                    self._below.folder(entry.path, make=True)
            self._next_file()
            while self._number < len(self._files) and first >= self._left:  # those that the stream does not carry
                first -= self._left
                self._end_file()
        except OSError as error:
            raise unwritable(self._writing, error) from None
        self._left -= first
        self._skip = max(0, self._skip - first)
        return True

    def _next_file(self) -> None:
        """Get ready for the next file's bytes; those without any are made at once."""
        while True:
            self._number += 1
            if self._number >= len(self._files):
                self._left = self._skip = 0
                return
            entry = self._files[self._number]
            self.current = (entry.path, self._number + 1)
            self._left = self._skip = entry.size
            if entry.path not in self._there:
                if self._part is None or self._part.entry != entry:
                    self._part = self._open_part(entry)
                self._skip = self._part.written
            if entry.size:
                return
            if self._number == len(self._files) - 1:
                continue  # `finish` names the last one
            if entry.path not in self._there:
                self._complete(entry)

    def _take(self, data: memoryview) -> None:
        while data:
            if self._number >= len(self._files):
                raise FileError("more bytes arrived than the manifest says", Reason.BROKEN_STREAM)
            skipped = min(self._skip, len(data))
            mine = data[skipped : self._left]
            data = data[skipped + len(mine) :]
            self._skip -= skipped
            self._left -= skipped + len(mine)
            self.received += skipped + len(mine)
            if mine:
                self._write(mine)
            self.written = max(self.written, self._first + self.received)
            if not self._left:
                self._end_file()

    def _end_file(self) -> None:
        entry = self._files[self._number]
        if entry.path not in self._there and self._number < len(self._files) - 1:
            self._complete(entry)  # `finish` does so with the last one
        self._next_file()

    def _write(self, data: memoryview) -> None:
        assert self._part is not None
        self._unchecked += len(data)
        if self._unchecked >= BLOCK_BYTES:
            self._unchecked = 0
            self._below.check()
        self._part.write(data)

    def _complete(self, entry: Entry) -> None:
        """All bytes of a file are there: check it, and give it its name."""
        part, self._part = self._part, None
        assert part is not None
        if not part.is_right:
            part.remove()
            raise FileError(f"{entry.path}: {Reason.WRONG_HASH.text}", Reason.WRONG_HASH)
        try:
            self._below.check()
            part.become(self.existing)
        except (OSError, FileError) as error:
            part.leave() if self._keep else part.remove()
            if isinstance(error, FileExistsError | IsADirectoryError):
                raise taken(self.folder / entry.path) from None
            raise
        self._there.add(entry.path)

    def finish(self) -> Path:
        """The stream has ended: the last file gets its name, folders get their modes and times. Raises FileError."""
        contents = self.contents
        if contents is None:
            raise FileError("the stream ended before the manifest did", Reason.BROKEN_STREAM)
        if self._number < len(self._files):
            raise FileError("the stream ended before the file did", Reason.BROKEN_STREAM)
        try:
            if self._part is not None:
                self._complete(self._part.entry)
            self._below.check()
            paths = {entry.folder for entry in self._files} | {e.path for e in contents.entries if e.is_folder}
            for path in sorted(paths, reverse=True):  # what is below first
                folder = self._below.folder(path)
                if folder is not None:
                    os.fsync(folder)
            for entry in reversed(contents.entries):
                if entry.is_folder and (folder := self._below.folder(entry.path)) is not None:
                    os.fchmod(folder, entry.mode & ~self._below.umask)
                    with contextlib.suppress(OSError):  # a file system that has no such time
                        os.utime(folder, ns=(entry.mtime_ns, entry.mtime_ns))
        except OSError as error:
            raise unwritable(self._writing, error) from None
        single = contents.single
        self.path = self.folder / single.path if single else self.folder
        return self.path

    def discard(self) -> None:
        """End: what is unfinished is removed, or kept for the next reception."""
        if self._part is not None:
            if self._keep:
                self.kept = self._part.leave()
            else:
                self._part.remove()
            self._part = None
        self._below.close()

    @property
    def quick_bytes(self) -> int:
        """Of what comes next, up to the end of a few files: each takes the disk's time."""
        if self.contents is None:
            return 0
        return self._left + sum(entry.size for entry in self._files[self._number + 1 : self._number + FILES_BEHIND])

    @property
    def _writing(self) -> Path:
        """What is being written."""
        return self.folder / self.current[0]

    def describe(self) -> Mapping[str, object]:
        """For a summary."""
        contents = self.contents
        single = contents.single if contents else None
        about: dict[str, object] = {
            "file": single.path if single else None,
            "path": str(self.path) if self.path else None,
            "size_bytes": contents.size if contents else None,
            "sha256": single.sha256 if single else None,
        }
        if contents is not None and single is None:
            files = ({"file": e.path, "size_bytes": e.size, "sha256": e.sha256} for e in contents.files)
            about["files"] = [one for one in files if one["file"] in self._there]
        if self._resume:
            about["had_bytes"] = self.had
        return about
