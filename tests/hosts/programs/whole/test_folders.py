"""Several files and folders in one stream, from who sends them to who stores them."""

import contextlib
import os
from pathlib import Path

import pytest

from hosts.endpoint import SessionEnded, StreamEnded
from hosts.programs.driver import INTERRUPTED
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.programs.progress import Display
from hosts.programs.transfer import ReceiverNarrator
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason
from tests.hosts.programs.streams import all_of, list_of, receive


@pytest.mark.parametrize("piece", [1, 777, 100_000])
def test_a_folder_there_and_back(tree: Path, folder: Path, piece: int) -> None:
    with FileSink(folder) as sink:
        assert receive(all_of(FileSource(tree), piece), sink) == folder
        assert sink.written == sink.received == 12_097
    assert list_of(folder / "tree") == list_of(tree)
    assert (folder / "tree" / "b" / "run.sh").stat().st_mode & 0o7000 == 0
    assert [one["file"] for one in sink.describe()["files"]] == [  # type: ignore[attr-defined]
        *("tree/a", "tree/b/c/deep", "tree/b/empty", "tree/b/run.sh", "tree/z")
    ]


def test_files_and_folders_together(tree: Path, original: Path, folder: Path) -> None:
    with FileSink(folder) as sink:
        receive(all_of(FileSource([original, tree / "b"])), sink)
    assert sorted(os.listdir(folder)) == ["a file.bin", "b"]


def test_a_link_in_the_receivers_folder_leads_nowhere(tree: Path, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    folder.mkdir()
    (folder / "tree").symlink_to(tmp_path / "outside")
    with FileSink(folder, "replace") as sink, pytest.raises(FileError, match="is a link or no folder") as error:
        receive(all_of(FileSource(tree)), sink)
    assert error.value.reason is Reason.REFUSED_FILE
    assert os.listdir(tmp_path / "outside") == []


def test_files_have_their_names_as_soon_as_they_are_right(tree: Path, folder: Path) -> None:
    pieces = all_of(FileSource(tree), 100)
    with FileSink(folder) as sink:
        for piece in pieces[:-5]:
            sink.write(piece)
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a", "deep", "empty", "run.sh"]


def test_one_wrong_byte_spoils_its_file_only(tree: Path, folder: Path) -> None:
    stream = bytearray(b"".join(all_of(FileSource(tree))))
    stream[-1] ^= 1
    with FileSink(folder) as sink, pytest.raises(FileError, match=r"tree/z: .*wrong hash"):
        receive([bytes(stream)], sink)
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["a", "deep", "empty", "run.sh"]


@pytest.mark.parametrize(("reason", "is_written"), [("made no progress", True), (INTERRUPTED, False)])
def test_who_has_all_writes_the_rest_without_a_sender(tree: Path, folder: Path, reason: str, is_written: bool) -> None:
    stream = all_of(FileSource(tree))
    with FileSink(folder) as sink:
        narrator = ReceiverNarrator(Display(quiet=True), sink)
        for event in (StreamEnded(12_097), SessionEnded(False, reason)):
            narrator.event(event)
        with contextlib.nullcontext() if is_written else pytest.raises(FileError, match="stopped"):
            receive(stream, sink)
    assert (folder / "tree" / "z").exists() is is_written


def test_any_name_that_is_taken_refuses_all(tree: Path, folder: Path) -> None:
    (folder / "tree").mkdir(parents=True)
    (folder / "tree" / "z").write_text("mine")
    with FileSink(folder) as sink, pytest.raises(FileError, match="tree/z: File exists"):
        receive(all_of(FileSource(tree)), sink)
    assert list_of(folder / "tree").keys() == {"z"}
