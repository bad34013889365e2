"""A broadcast's files: which they are, their stream, and the folder that they come into."""

import hashlib
from pathlib import Path

import pytest

from hosts.programs.broadcast import FilesSource, FolderSink, files_of
from hosts.programs.progress import Display
from hosts.wire.manifest import FileError, Manifest


def made(folder: Path) -> Path:
    folder.mkdir()
    for name, data in (("a", b"1" * 5000), ("b", b""), (".hidden", b"x")):
        (folder / name).write_bytes(data)
    (folder / "below").mkdir()
    return folder


def test_a_folder_stands_for_its_files_and_names_are_of_one_file_each(tmp_path: Path) -> None:
    folder = made(tmp_path / "in")
    assert [path.name for path in files_of([folder])] == ["a", "b"]
    assert [path.name for path in files_of([folder / "b", folder / ".hidden"])] == ["b", ".hidden"]
    with pytest.raises(ValueError, match="the name a"):
        files_of([folder, folder / "a"])
    with pytest.raises(ValueError, match="no file"):
        files_of([folder / "below"])


def test_the_stream_is_the_files_one_after_the_other(tmp_path: Path) -> None:
    source = FilesSource(files_of([made(tmp_path / "in")]))
    stream = bytearray()
    while not source.exhausted:
        stream += source.read(700)
    assert source.read(10) == b""
    for name, data in (("a", b"1" * 5000), ("b", b"")):
        manifest = Manifest.take(stream)
        assert manifest is not None
        assert (manifest.name, bytes(stream[: manifest.size])) == (name, data)
        del stream[: manifest.size]
    assert not stream
    with pytest.raises(FileError, match="not a file"):
        FilesSource([tmp_path / "nowhere"])


def test_files_that_are_there_already_stay_and_others_are_refused(tmp_path: Path) -> None:
    sink = FolderSink(tmp_path / "out", "refuse", Display(quiet=True))

    def piece(name: str, data: bytes) -> bytes:
        return Manifest(name, len(data), hashlib.sha256(data).hexdigest()).encode() + data

    sink.write(piece("a", b"one"))
    written = (tmp_path / "out" / "a").stat().st_mtime_ns
    sink.write(piece("a", b"one"))
    assert (tmp_path / "out" / "a").stat().st_mtime_ns == written
    with pytest.raises(FileError, match="exists"):
        sink.write(piece("a", b"two"))
    with pytest.raises(FileError, match="not a file"):
        sink.write(b"CF")
    assert [file["file"] for file in sink.files] == ["a", "a"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
