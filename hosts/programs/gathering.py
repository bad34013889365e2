"""What a sender's command line means by files and folders: a list of them, with the names that receivers see."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hosts.wire.contents import MODE_BITS, Entry, Kind, check_paths, unsafe_path
from hosts.wire.manifest import FileError

PIECE_BYTES: Final = 1 << 20
"""What is read from the disk at once."""
LARGE_BYTES: Final = 1 << 28
"""A file of so many is read for its hash for longer than a person waits without a word (ours)."""


class Found(NamedTuple):
    """A file or folder here, and what receivers are told of it."""

    path: Path
    entry: Entry


def gather(paths: Sequence[Path], name: str | None, say: Callable[[str], None]) -> list[Found]:
    """Files, and folders with all that is in them: but for links, what is neither file nor folder, and names that begin
    with a dot, which `say` is told of, as of large files that are read for their hash. `name`: of the only path, at the
    receivers. Raises FileError."""
    if name is not None and len(paths) > 1:
        raise FileError("--name: there are several files; each has its own")
    if name == "":
        raise FileError("--name: it is empty")
    if len(paths) == 1 and not paths[0].is_dir():
        return [_file(paths[0], name or paths[0].name, None, say)]
    found: list[Found] = []
    left_out: list[Path] = []
    for path in paths:
        top = name or path.absolute().name or path.resolve().name
        _check_name(path, top)
        if path.is_dir():
            found += _within(path, top, left_out, say)
        else:
            found.append(_file(path, top, path, say))
    if left_out:
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        say(f"left out: {left_out[0]}{more} (hidden, a link, or neither file nor folder)")
    if all(one.entry.is_folder for one in found):
        raise FileError(f"{paths[0]}: there is no file in it")
    check_paths(tuple(one.entry for one in found))
    return found


def hash_of(path: Path, say: Callable[[str], None]) -> tuple[int, str]:
    """Size and SHA-256 of a regular file; `say` is told when that takes its time. Raises FileError."""
    digest = hashlib.sha256()
    size = 0
    try:
        # A pipe nobody writes into would keep us waiting before it shows what it is.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise FileError(f"{path}: not a regular file")
            if about.st_size >= LARGE_BYTES:
                say(f"{path}: reading {about.st_size / 1e9:.1f} GB for its SHA-256")
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    return size, digest.hexdigest()


def _within(folder: Path, name: str, left_out: list[Path], say: Callable[[str], None]) -> Iterator[Found]:
    """A folder and what is below it, in the order of the names."""
    try:
        about = folder.stat()
        inner = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        raise FileError(f"{error.filename or folder}: {error.strerror}") from None
    yield Found(folder, Entry(name, kind=Kind.FOLDER, mode=about.st_mode & MODE_BITS, mtime_ns=about.st_mtime_ns))
    for one in inner:
        path = folder / one.name
        is_folder = one.is_dir(follow_symlinks=False)
        if one.name.startswith(".") or not (is_folder or one.is_file(follow_symlinks=False)):
            left_out.append(path)
            continue
        below = f"{name}/{one.name}"
        _check_name(path, below)
        if is_folder:
            yield from _within(path, below, left_out, say)
        else:
            yield _file(path, below, path, say)


def _file(path: Path, name: str, kept: Path | None, say: Callable[[str], None]) -> Found:
    """`kept`: whose mode and time receivers shall keep."""
    _check_name(path, name)
    size, digest = hash_of(path, say)
    if kept is None:
        return Found(path, Entry(name, size, digest))
    try:
        about = kept.stat()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from None
    return Found(path, Entry(name, size, digest, Kind.KEPT_FILE, about.st_mode & MODE_BITS, about.st_mtime_ns))


def _check_name(path: Path, name: str) -> None:
    if problem := unsafe_path(name):
        raise FileError(f"{path}: receivers would refuse the name: {problem}")
