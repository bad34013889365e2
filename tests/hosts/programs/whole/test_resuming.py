"""What a session has left of its files, and what the next one need not send again."""

import os
from pathlib import Path

import pytest

from hosts.programs import part
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason
from tests.hosts.programs.streams import all_of, full_disk, list_of, receive, stream_of


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of ten blocks."""
    monkeypatch.setattr(part, "BLOCK_BYTES", 1000)
    path = tmp_path / "large"
    path.write_bytes(os.urandom(10_000))
    return path


@pytest.mark.parametrize("cut", range(0, 12_097, 1111))
def test_what_was_received_need_not_come_again(
    tree: Path, folder: Path, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From whichever byte that all have the next session begins."""
    monkeypatch.setattr(part, "BLOCK_BYTES", 1000)
    stream = b"".join(all_of(FileSource(tree)))
    with FileSink(folder, keep=True) as sink:
        sink.write(stream[: len(stream) - 12_097 + cut])
    source = FileSource(tree)
    with FileSink(folder, resume=True, keep=True) as sink:
        held = sink.prepare(source.contents)
        assert cut - 1000 < held <= cut
        source.begin(held if cut % 2 else held // 2)  # another receiver may have less
        receive(all_of(source), sink)
    assert list_of(folder / "tree") == list_of(tree)
    with FileSink(folder, resume=True) as sink:
        assert sink.prepare(source.contents) == 12_097
        receive([source.contents.head(12_097)], sink)
        assert (sink.had, sink.received) == (12_097, 0)


def test_a_session_that_begins_behind_what_is_here(original: Path, folder: Path) -> None:
    source = FileSource(original)
    source.begin(1)
    with FileSink(folder, resume=True) as sink, pytest.raises(FileError, match="begins at byte 1, and 0 are here"):
        receive(all_of(source), sink)


def test_a_single_file_that_is_there_already(original: Path, folder: Path) -> None:
    pieces = stream_of(original)
    with FileSink(folder) as sink:
        receive(pieces, sink)
    with FileSink(folder, resume=True) as sink:
        receive(pieces, sink)
        assert sink.had == 10_123
    (folder / original.name).write_bytes(bytes(10_123))
    with FileSink(folder, resume=True) as sink, pytest.raises(FileError, match="File exists"):
        receive(pieces, sink)
    with FileSink(folder, "replace", resume=True) as sink:
        assert receive(pieces, sink).read_bytes() == original.read_bytes()


def test_a_disk_that_has_no_room_to_keep_leaves_nothing(
    large: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "reserve", full_disk)
    with FileSink(folder) as sink, pytest.raises(FileError, match="No space left on device") as error:
        receive(stream_of(large), sink)
    assert error.value.reason is Reason.NO_ROOM
    assert os.listdir(folder) == []


def test_a_disk_that_fills_up_leaves_what_can_be_resumed(
    large: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = stream_of(large)
    with FileSink(folder, keep=True) as sink:
        for piece in pieces[:4]:
            sink.write(piece)
        with monkeypatch.context() as full:
            full.setattr(os, "write", full_disk)
            with pytest.raises(FileError, match="large: cannot write: No space left on device"):
                receive(pieces[4:], sink)
    assert sink.kept == 3000
    assert not (folder / "large").exists()
    with FileSink(folder, resume=True) as sink:
        assert receive(pieces, sink).read_bytes() == large.read_bytes()
        assert sink.had == 3000


def test_who_is_interrupted_while_he_looks_loses_nothing(large: Path, folder: Path) -> None:
    source = FileSource(large)
    pieces = all_of(source)
    with FileSink(folder, keep=True) as sink:
        receive_some(pieces[:6], sink)
    with FileSink(folder, resume=True, keep=True) as sink:
        sink.stop()
        with pytest.raises(FileError, match="stopped"):
            sink.prepare(source.contents)
    with FileSink(folder, resume=True) as sink:
        assert sink.prepare(source.contents) == 5000


def receive_some(pieces: list[bytes], sink: FileSink) -> None:
    for piece in pieces:
        sink.write(piece)
