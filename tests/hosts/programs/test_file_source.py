"""Files to send: what cannot be, and what becomes of them meanwhile."""

import os
from pathlib import Path

import pytest

from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.wire.manifest import FileError
from tests.hosts.programs.streams import all_of


def test_what_cannot_be_sent(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        FileSource(tmp_path / "missing")
    with pytest.raises(FileError, match="there is no file in it"):
        FileSource(tmp_path)
    with pytest.raises(FileError, match="not a regular file"):
        FileSource(Path("/dev/null"))
    os.mkfifo(tmp_path / "pipe")  # into which nobody writes
    with pytest.raises(FileError, match="not a regular file"):
        FileSource(tmp_path / "pipe")
    hidden = tmp_path / ".hidden"
    hidden.touch()
    with pytest.raises(FileError, match="receivers would refuse the name"):
        FileSource(hidden)
    FileSource(hidden, "shown").close()


def test_a_file_that_shrinks_is_noticed(original: Path) -> None:
    source = FileSource(original)
    source.read(10**6)
    os.truncate(original, 5000)
    assert len(source.read(10**6)) <= 5000
    with pytest.raises(FileError, match="became shorter"):
        source.read(10**6)
    source.close()


def test_a_file_that_grows_is_sent_as_it_was(original: Path, folder: Path) -> None:
    before = original.read_bytes()
    source = FileSource(original)
    with original.open("ab") as file:
        file.write(b"more")
    with FileSink(folder) as sink:
        while not source.exhausted:
            sink.write(source.read(4096))
        assert sink.finish().read_bytes() == before
    source.close()


def test_hidden_files_and_links_are_left_out(tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / "link").symlink_to("/etc/passwd")
    os.mkfifo(tree / "pipe")
    said: list[str] = []
    source = FileSource(tree, say=said.append)
    assert {entry.path for entry in source.contents.files}.isdisjoint({"tree/link", "tree/pipe"})
    assert said == [f"left out: {tree / '.git'} and 2 more (hidden, a link, or neither file nor folder)"]


def test_a_large_file_is_not_read_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.programs.gathering.LARGE_BYTES", 1000)
    said: list[str] = []
    for name, size in (("small", 999), ("large", 1000)):
        (tmp_path / name).write_bytes(bytes(size))
        FileSource(tmp_path / name, say=said.append).close()
    assert said == [f"{tmp_path / 'large'}: reading 0.0 GB for its SHA-256"]


def test_a_file_of_several_that_shrinks_or_vanishes(tree: Path) -> None:
    source = FileSource(tree)
    source.read(len(source.contents.head()))
    os.truncate(tree / "a", 1)
    source.read(1)
    with pytest.raises(FileError, match="tree/a: it became shorter"):
        source.read(1)
    (tree / "z").unlink()
    source = FileSource([tree / "b"])
    source.begin(1)
    (tree / "b" / "run.sh").unlink()
    source.read(1000)
    with pytest.raises(FileError, match=r"run\.sh: No such file"):
        all_of(source)
