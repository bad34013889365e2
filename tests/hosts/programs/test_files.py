"""One file, from its stream to its name in the receiver's folder; what cannot be stored."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from hosts.programs import files
from hosts.programs.files import FileSink
from hosts.wire.manifest import MAGIC, PREFIX, FileError
from hosts.wire.reason import Reason
from tests.hosts.programs.streams import full_disk, receive, stream_of
from tests.hosts.wire.test_manifest import UNSAFE


@pytest.mark.parametrize("piece", [1, 7, 1000, 100_000])
def test_there_and_back(original: Path, folder: Path, piece: int) -> None:
    with FileSink(folder) as sink:
        final = receive(stream_of(original, piece), sink)
    assert final == folder / "a file.bin"
    assert final.read_bytes() == original.read_bytes()
    assert sorted(os.listdir(folder)) == ["a file.bin"]
    assert sink.describe()["sha256"] == hashlib.sha256(original.read_bytes()).hexdigest()


def test_an_empty_file(tmp_path: Path, folder: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with FileSink(folder) as sink:
        assert receive(stream_of(empty), sink).read_bytes() == b""


def test_the_final_name_appears_only_at_the_end(original: Path, folder: Path) -> None:
    pieces = stream_of(original)
    with FileSink(folder) as sink:
        for piece in pieces:
            sink.write(piece)
            assert not (folder / original.name).exists()
        (part,) = os.listdir(folder)
        assert part.startswith(".a file.bin.part-")
        sink.finish()


def test_what_is_unfinished_is_removed(original: Path, folder: Path) -> None:
    with FileSink(folder) as sink:
        for piece in stream_of(original)[:-1]:
            sink.write(piece)
        with pytest.raises(FileError, match="ended before the file did"):
            sink.finish()
    assert os.listdir(folder) == []


def test_a_wrong_hash(original: Path, folder: Path) -> None:
    pieces = stream_of(original)
    pieces[-1] = pieces[-1][:-1] + bytes([pieces[-1][-1] ^ 1])
    with FileSink(folder) as sink, pytest.raises(FileError, match="wrong hash") as error:
        receive(pieces, sink)
    assert error.value.reason is Reason.WRONG_HASH
    assert os.listdir(folder) == []


def test_too_much(original: Path, folder: Path) -> None:
    with FileSink(folder) as sink, pytest.raises(FileError, match="more bytes"):
        receive([*stream_of(original), b"x"], sink)


def test_a_file_that_exists_is_refused_before_anything_is_written(original: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / original.name).write_text("mine")
    with FileSink(folder) as sink, pytest.raises(FileError, match=r"a file\.bin: File exists") as error:
        sink.write(stream_of(original)[0])
    assert error.value.reason is Reason.REFUSED_FILE
    assert (folder / original.name).read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_not_overwritten(original: Path, folder: Path) -> None:
    pieces = stream_of(original)
    with FileSink(folder) as sink:
        for piece in pieces:
            sink.write(piece)
        (folder / original.name).write_text("mine")
        with pytest.raises(FileError, match="File exists"):
            sink.finish()
    assert (folder / original.name).read_text() == "mine"
    assert os.listdir(folder) == [original.name]


def test_replacing(original: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / original.name).write_text("mine")
    with FileSink(folder, "replace") as sink:
        receive(stream_of(original), sink)
    assert (folder / original.name).read_bytes() == original.read_bytes()


def test_a_folder_in_the_way_is_not_replaced(original: Path, folder: Path) -> None:
    (folder / original.name).mkdir(parents=True)
    with FileSink(folder, "replace") as sink, pytest.raises(FileError, match="File exists"):
        receive(stream_of(original), sink)


def test_a_file_system_without_links(original: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*args: object, **rest: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    with FileSink(folder) as sink:
        receive(stream_of(original), sink)
    assert (folder / original.name).read_bytes() == original.read_bytes()


def test_a_full_disk_is_found_before_the_first_byte(
    original: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Space:
        f_bavail = 2
        f_frsize = 4096

    monkeypatch.setattr(os, "statvfs", lambda path: Space)
    with (
        FileSink(folder) as sink,
        pytest.raises(FileError, match=r"No space .* bytes more are needed, and 8192 are free") as error,
    ):
        receive(stream_of(original), sink)
    assert error.value.reason is Reason.NO_ROOM
    assert os.listdir(folder) == []


def test_a_disk_that_fills_up(original: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = stream_of(original)
    with FileSink(folder) as sink:
        sink.write(pieces[0])
        monkeypatch.setattr(os, "write", full_disk)
        with pytest.raises(FileError, match="cannot write: No space left on device"):
            receive(pieces[1:], sink)


@pytest.mark.parametrize("folder_text", ["/proc/no/such", "/dev/null", "/dev/null/sub"])
def test_folders_that_cannot_be(folder_text: str) -> None:
    with pytest.raises(FileError) as error:
        FileSink(Path(folder_text))
    assert error.value.reason is Reason.CANNOT_WRITE
    assert folder_text in str(error.value)


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_names_leave_nothing(name: str, folder: Path) -> None:
    body = json.dumps({"name": name, "size": 1, "sha256": "0" * 64}).encode()
    with FileSink(folder) as sink, pytest.raises(FileError, match="name is refused") as error:
        sink.write(PREFIX.pack(MAGIC, 1, len(body)) + body + b"x")
    assert error.value.reason is Reason.REFUSED_FILE
    assert os.listdir(folder) == []


def test_another_stream(folder: Path) -> None:
    with FileSink(folder) as sink, pytest.raises(FileError, match="not a file of this version"):
        sink.write(b"GET / HTTP/1.0\r\n\r\n")
    with FileSink(folder) as sink:
        sink.write(MAGIC)
        with pytest.raises(FileError, match="before the manifest"):
            sink.finish()


def test_a_folder_that_vanishes(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 1000)
    large = tmp_path / "large"
    large.write_bytes(bytes(10_000))
    pieces = stream_of(large)
    with FileSink(folder) as sink:
        for piece in pieces[:3]:
            sink.write(piece)
        folder.rename(tmp_path / "elsewhere")
        with pytest.raises(FileError, match="in: No such file") as error:
            receive(pieces[3:], sink)
        assert error.value.reason is Reason.CANNOT_WRITE
    assert os.listdir(tmp_path / "elsewhere") == []


def test_the_bytes_of_few_files_are_written_in_a_moment(tmp_path: Path, folder: Path) -> None:
    """The disk takes its time for each file, however small."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(200):
        (source / f"{number:03}").write_bytes(bytes(10))
    (source / "large").write_bytes(bytes(10**6))
    head, *pieces = stream_of(source, 10**7)
    with FileSink(folder) as sink:
        assert sink.quick_bytes == 0, "nobody knows yet"
        sink.write(head + b"".join(pieces)[:4])
        assert sink.quick_bytes == 10 * files.FILES_BEHIND - 4
        sink.write(b"".join(pieces)[4 : 150 * 10])
        assert sink.quick_bytes == 50 * 10 + 10**6
        sink.write(b"".join(pieces)[1500:])
        assert sink.quick_bytes == 0
        sink.finish()
