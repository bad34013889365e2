"""A broadcast's files: which they are, their stream, and the folder that they come into."""

from pathlib import Path

import pytest

from hosts.programs.broadcast import FileLibrary, FolderWatch, files_of
from hosts.programs.shelf import content_of_file
from hosts.programs.times import Rule, Rules
from hosts.storage import Content
from hosts.wire.manifest import FileError


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


def test_a_library_has_its_files_once_and_as_they_were(tmp_path: Path) -> None:
    paths = files_of([made(tmp_path / "in")])
    library = FileLibrary([content_of_file(path) for path in paths])
    change = library.take()
    assert change is not None
    assert change.is_last
    assert library.take() is None
    assert [content.manifest.name for content in change.added] == ["a", "b"]
    assert change.added[0].data.read(10, 5) == b"1" * 5
    with pytest.raises(FileError, match="nowhere"):
        content_of_file(tmp_path / "nowhere")


def make(path: Path, rule: Rule) -> Content:
    return content_of_file(path, priority=rule.priority, turns=rule.turns)


def test_rules_say_when_files_are_sent_and_the_end_of_all_is_told(tmp_path: Path) -> None:
    folder, now = made(tmp_path / "in"), [5.0]
    rules = Rules([Rule("b", priority=2.0, turns=3, start=20.0, until=40.0)], Rule(until=30.0))
    watch = FolderWatch([folder], make, rules, lambda: now[0])
    seen = []
    for at in range(0, 60, 5):
        now[0] = float(at)
        watch.scan()
        if (change := watch.take()) is not None:
            seen.append((at, [content.manifest.name for content in change.added], change.removed, change.is_last))
            for content in change.added:
                assert (content.priority, content.turns) == ((2.0, 3) if content.manifest.name == "b" else (1.0, 0))
    assert seen == [(5, ["a"], [], False), (20, ["b"], [], False), (30, [], ["a"], False), (40, [], ["b"], True)]


def test_a_folder_that_is_watched_gives_what_is_new_changed_and_gone(tmp_path: Path) -> None:
    folder = made(tmp_path / "in")
    watch = FolderWatch([folder], make)

    def scanned() -> tuple[list[str], list[str]]:
        watch.scan()
        change = watch.take()
        if change is None:
            return [], []
        return [content.manifest.name for content in change.added], list(change.removed)

    assert scanned() == ([], [])  # they may be being written
    assert scanned() == (["a", "b"], [])
    (folder / "c").write_bytes(b"3")
    (folder / "a").write_bytes(b"other")
    (folder / "b").unlink()
    assert scanned() == ([], ["a", "b"])
    assert scanned() == (["a", "c"], [])
    assert scanned() == ([], [])
    (folder / "line\n").write_bytes(b"4")  # no receiver takes such a name
    assert [scanned(), scanned()] == [([], []), ([], [])]
    watch = FolderWatch([folder / "line\n"], make)
    assert [scanned(), scanned()] == [([], []), ([], [])]
    assert "control characters" in watch.problems[0]
