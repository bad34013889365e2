"""A received file's final name: how what is whole gets it, and what a user is told when it cannot."""

import errno
import os
import stat
from pathlib import Path
from typing import Literal, TypeAlias

from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

Existing: TypeAlias = Literal["refuse", "replace"]
"""What becomes of a file that has the name already."""


def give_name(part: str | Path, final: str | Path, existing: Existing, folder: int | None = None) -> None:
    """Have a file that is whole under its final name; the folder is left to be synced. `folder`: a descriptor that both
    names are below; None: they are paths. Raises OSError; FileExistsError where something else has the name."""
    if existing == "replace":
        os.replace(part, final, src_dir_fd=folder, dst_dir_fd=folder)
        return
    try:  # unlike rename, it never overwrites what appeared meanwhile
        os.link(part, final, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        if is_there(final, folder):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(part, final, src_dir_fd=folder, dst_dir_fd=folder)  # a file system without hard links
    else:
        os.unlink(part, dir_fd=folder)


def is_there(name: str | Path, folder: int | None = None) -> bool:
    """Whether something has the name, be it a link to nothing."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def taken(final: Path) -> FileError:
    """Of a name that a file has already."""
    what = "" if final.is_dir() else " (--replace puts the new one in its place)"
    return FileError(f"{final}: {os.strerror(errno.EEXIST)}{what}", Reason.REFUSED_FILE)


def check_folder(folder: Path) -> None:
    """Whether files may come into a folder. Raises FileError, with what to do, when they may not."""
    try:
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            why = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(why, os.strerror(why))
    except OSError as error:
        raise unusable(folder, error) from None


def unusable(folder: Path, error: OSError) -> FileError:
    """Of a folder that no file can come into."""
    match error.errno:
        case errno.EROFS:
            why = "its file system is read-only: mount it for writing, or name another folder (--out)"
        case errno.EACCES:
            why = f"user {os.geteuid()} may not write there: change its owner or mode, or name another folder (--out)"
        case errno.ENOTDIR | errno.EEXIST:
            why = "no folder, but a file"
        case _:
            why = error.strerror or str(error)
    return FileError(f"{folder}: {why}", Reason.CANNOT_WRITE)


def check_space(folder: Path, needed: int) -> None:
    """OSError where a folder has no room for so many bytes more."""
    space = os.statvfs(folder)
    free = space.f_bavail * space.f_frsize
    if free < needed:
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {needed} bytes more are needed, and {free} are free")


def unwritable(path: Path, error: OSError) -> FileError:
    """Of a folder, or a file in it."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return FileError(f"{path}: cannot write: {error.strerror}", Reason.NO_ROOM if is_full else Reason.CANNOT_WRITE)
