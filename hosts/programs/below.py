"""A receiver's folder and those below it, by descriptors: no link that lies in it leads anywhere else."""

import contextlib
import errno
import os
from pathlib import Path
from typing import Final

from hosts.programs.naming import check_folder, unusable
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Below:
    """Open folders: the receiver's own, and the one below it that was asked for last."""

    def __init__(self, top: Path) -> None:
        """Raises FileError when it cannot be made or written to."""
        self.top = top
        try:
            top.mkdir(parents=True, exist_ok=True)
            check_folder(top)
            self._top = os.open(top, _FLAGS)
        except OSError as error:
            raise unusable(top, error) from None
        self.umask = _read_umask()
        self._path = ""
        self._open: int | None = None

    def folder(self, path: str, *, make: bool = False) -> int | None:
        """A descriptor, good until another folder is asked for; None: it is not there. Raises FileError where a link or
        a file is in the way, and OSError."""
        if not path:
            return self._top
        if self._open is not None and self._path == path:
            return self._open
        self._forget()
        at = os.dup(self._top)
        for name in path.split("/"):
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o700 | (0o777 & ~self.umask), dir_fd=at)
                inner = os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=at)
            except FileNotFoundError:
                if not make:
                    return None
                raise
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise FileError(f"{self.top / path}: {name} is a link or no folder", Reason.REFUSED_FILE) from None
                raise
            finally:
                os.close(at)
            at = inner
        self._path, self._open = path, at
        return at

    def check(self) -> None:
        """Raises FileError when the folder's name is no longer its own: what is written would be nowhere."""
        try:
            here, there = os.fstat(self._top), os.stat(self.top)
        except OSError as error:
            raise FileError(f"{self.top}: {error.strerror}", Reason.CANNOT_WRITE) from None
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            raise FileError(f"{self.top}: another folder has taken its place", Reason.CANNOT_WRITE)

    def close(self) -> None:
        """Close what is open."""
        self._forget()
        if self._top >= 0:
            os.close(self._top)
            self._top = -1

    def _forget(self) -> None:
        if self._open is not None:
            os.close(self._open)
            self._open = None


def _read_umask() -> int:
    """The program's, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
