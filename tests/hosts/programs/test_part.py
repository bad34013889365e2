"""Files that are not whole yet: what an interrupted reception leaves, and what the next one takes over."""

import contextlib
import ctypes
import errno
import fcntl
import functools
import hashlib
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.programs import part as module
from hosts.programs.naming import Existing
from hosts.programs.part import DIGEST_BYTES, JOURNAL, Part, journal_name, part_name, remove_leftovers
from hosts.wire.contents import Entry
from hosts.wire.manifest import FileError

BLOCK = 1000
DATA = random.Random(1).randbytes(3 * BLOCK + 500)
ENTRY = Entry("file", len(DATA), hashlib.sha256(DATA).hexdigest())


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", BLOCK)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def begun(folder: int, *, resume: bool = True) -> Part:
    part = Part(folder, ENTRY, 0o022)
    if resume:
        part.resume()
    part.begin()
    return part


def interrupted(folder: int, size: int) -> None:
    """A reception that is killed after so many bytes: nothing is done in good order."""
    part = begun(folder, resume=False)
    part.write(memoryview(DATA)[:size])
    part.close()


def finish(part: Part, path: Path) -> None:
    part.write(memoryview(DATA)[part.written :])
    assert part.is_right
    part.become("refuse")
    assert (path / "file").read_bytes() == DATA
    assert os.listdir(path) == ["file"]


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, len(DATA)])
def test_whole_blocks_need_not_come_again(folder: int, tmp_path: Path, size: int) -> None:
    interrupted(folder, size)
    part = begun(folder)
    assert part.written == size // BLOCK * BLOCK
    finish(part, tmp_path)


@pytest.mark.parametrize("length", range(0, JOURNAL.size + 3 * DIGEST_BYTES + 1, 7))
def test_a_journal_that_is_cut_off_anywhere(folder: int, tmp_path: Path, length: int) -> None:
    interrupted(folder, len(DATA))
    os.truncate(tmp_path / journal_name(ENTRY), length)
    part = begun(folder)
    assert part.written == max(0, length - JOURNAL.size) // DIGEST_BYTES * BLOCK
    finish(part, tmp_path)


@pytest.mark.parametrize("at", range(0, JOURNAL.size + 3 * DIGEST_BYTES, 11))
def test_a_journal_that_is_damaged_anywhere(folder: int, tmp_path: Path, at: int) -> None:
    interrupted(folder, len(DATA))
    path = tmp_path / journal_name(ENTRY)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content + os.urandom(1000))
    finish(begun(folder), tmp_path)


@pytest.mark.parametrize(("at", "kept"), [(0, 0), (BLOCK - 1, 0), (BLOCK, 1), (3 * BLOCK - 1, 2), (3 * BLOCK, 3)])
def test_a_part_that_is_damaged_is_taken_over_up_to_there(folder: int, tmp_path: Path, at: int, kept: int) -> None:
    interrupted(folder, len(DATA))
    path = tmp_path / part_name(ENTRY)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    part = begun(folder)
    assert part.written == kept * BLOCK
    finish(part, tmp_path)


def test_a_part_that_is_shorter_than_its_journal_says(folder: int, tmp_path: Path) -> None:
    interrupted(folder, len(DATA))
    os.truncate(tmp_path / part_name(ENTRY), BLOCK + 1)
    part = begun(folder)
    assert part.written == BLOCK
    finish(part, tmp_path)


def test_looking_may_be_stopped(folder: int, tmp_path: Path) -> None:
    interrupted(folder, len(DATA))
    part = Part(folder, ENTRY, 0o022)
    part.resume(iter([True, False]).__next__)
    assert part.written == BLOCK
    part.close()
    finish(begun(folder), tmp_path)


def test_without_resuming_it_begins_anew(folder: int, tmp_path: Path) -> None:
    interrupted(folder, len(DATA))
    part = begun(folder, resume=False)
    assert part.written == 0
    finish(part, tmp_path)


def test_a_part_of_less_than_a_block_is_not_kept(folder: int, tmp_path: Path) -> None:
    part = begun(folder)
    part.write(memoryview(DATA)[: BLOCK - 1])
    assert part.leave() == 0
    assert os.listdir(tmp_path) == []
    part = begun(folder)
    part.write(memoryview(DATA)[: BLOCK + 1])
    assert part.leave() == BLOCK
    assert sorted(os.listdir(tmp_path)) == sorted((part_name(ENTRY), journal_name(ENTRY)))


CALLS = ("open", "write", "pwrite", "ftruncate", "fchmod", "fsync", "link", "unlink", "replace")
"""Of the system's, at each of which a receiver may be killed."""


FORKS = multiprocessing.get_context("forkserver")
"""A process that runs all tests is large, and takes ten times as long to fork."""
FORKS.set_forkserver_preload([__name__])


def killed(folder: Path, moment: int, *, resume: bool, existing: Existing) -> bool:
    """A reception in a process that is killed (as by kill -9) before that call; whether it was."""
    process = FORKS.Process(target=receive, args=(folder, moment, resume, existing))
    process.start()
    process.join()
    return process.exitcode == 9


def receive(path: Path, moment: int, resume: bool, existing: Existing) -> None:
    """All of it, or what there is of it before the moment, and no more."""
    vars(module)["BLOCK_BYTES"] = BLOCK
    folder, left = os.open(path, os.O_RDONLY | os.O_DIRECTORY), moment

    def before(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        nonlocal left
        if not left:
            os._exit(9)
        left -= 1
        return call(*arguments, **named)

    for name in CALLS:
        setattr(os, name, functools.partial(before, getattr(os, name)))
    with contextlib.suppress(FileExistsError):  # there it is
        part = begun(folder, resume=resume)
        while part.written < len(DATA):
            part.write(memoryview(DATA)[part.written :][:700])
        if part.is_right:
            part.become(existing)
    os._exit(0)


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("existing", ["refuse", "replace"])
def test_whenever_it_is_killed_the_name_has_the_right_bytes_or_is_not_there(
    folder: int, tmp_path: Path, existing: Existing, resume: bool
) -> None:
    moments = 0
    while killed(tmp_path, moments, resume=resume, existing=existing):
        final = tmp_path / "file"
        assert not final.exists() or final.read_bytes() == DATA
        killed(tmp_path, 4, resume=resume, existing=existing)  # the next one has just begun
        assert not final.exists() or final.read_bytes() == DATA
        if not final.exists():
            finish(begun(folder), tmp_path)
        for path in tmp_path.iterdir():
            path.unlink()
        moments += 1
    assert moments > 12
    assert (tmp_path / "file").read_bytes() == DATA


def test_the_disk_keeps_room_for_all_that_will_come(folder: int, tmp_path: Path) -> None:
    part = begun(folder)
    place = tmp_path / part_name(ENTRY)
    assert place.stat().st_size == 0
    assert part.room_bytes == place.stat().st_blocks * 512
    assert part.room_bytes >= len(DATA), "this file system keeps no room: nothing was tested"
    finish(part, tmp_path)


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOSPC])
def test_a_disk_that_keeps_no_room_or_has_none(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    class Library:
        @staticmethod
        def fallocate(*arguments: object) -> int:
            ctypes.set_errno(error)
            return -1

    monkeypatch.setattr(module, "_libc", Library)
    if error == errno.ENOSPC:
        with pytest.raises(OSError, match="No space left on device"):
            begun(folder)
    else:
        finish(begun(folder), tmp_path)


def test_a_part_has_one_writer(folder: int) -> None:
    part = begun(folder)
    with pytest.raises(FileError, match="another reception"):
        begun(folder)
    part.remove()
    begun(folder).remove()


def test_a_link_or_a_pipe_in_the_place_of_a_part_is_not_followed(folder: int, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / part_name(ENTRY)).symlink_to("victim")
    with pytest.raises(OSError, match="symbolic links"):
        begun(folder)
    (tmp_path / part_name(ENTRY)).unlink()
    os.mkfifo(tmp_path / part_name(ENTRY))
    with pytest.raises(OSError, match="no regular file"):
        begun(folder)
    assert (tmp_path / "victim").read_text() == "mine"


def test_leftovers(folder: int, tmp_path: Path) -> None:
    interrupted(folder, len(DATA))
    (tmp_path / ".small.part-01234567").write_text("half")
    (tmp_path / ".alone.hash-01234567").write_text("half")
    (tmp_path / ".kept.part").touch()
    with (tmp_path / ".locked.part-01234567").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert list(remove_leftovers(tmp_path, resumable=False)) == [".alone.hash-01234567", ".small.part-01234567"]
        assert list(remove_leftovers(tmp_path, resumable=True)) == [part_name(ENTRY)]
    assert sorted(os.listdir(tmp_path)) == [".kept.part", ".locked.part-01234567"]


def test_the_disk_begins_with_every_block_that_is_whole(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_with = []
    monkeypatch.setattr(os, "posix_fadvise", lambda file, start, size, advice: begun_with.append((start, size, advice)))
    finish(begun(folder), tmp_path)
    assert begun_with == [(start, BLOCK, os.POSIX_FADV_DONTNEED) for start in range(0, 3 * BLOCK, BLOCK)]
