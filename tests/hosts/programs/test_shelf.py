"""Files by place: read where they lie, and put together in a folder by one receiver after another."""

import gzip
import hashlib
from collections import OrderedDict
from pathlib import Path

import pytest

from hosts.programs.shelf import FileBytes, FolderShelf, content_of_file
from hosts.storage import CacheControl, Room
from hosts.wire.manifest import FileError, Manifest
from hosts.wire.reason import Reason

DATA = bytes(range(256)) * 40


def manifest(data: bytes, name: str = "a") -> Manifest:
    return Manifest(name, len(data), hashlib.sha256(data).hexdigest())


class Folder:
    """A folder, and what was told of it."""

    def __init__(self, path: Path, existing: str = "refuse") -> None:
        self.told: list[Manifest] = []
        self.path = path
        self.cache: list[CacheControl] = []
        self.shelf = FolderShelf(path, existing, self._tell)  # type: ignore[arg-type]

    def _tell(self, found: Manifest, cache: CacheControl) -> None:
        self.told.append(found)
        self.cache.append(cache)

    def room(self, data: bytes = DATA, key: str = "k") -> Room:
        found = self.shelf.room("a", manifest(data).sha256, key, "no-cache")
        assert found is not None
        return found

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir())


def test_a_file_s_digests_and_bytes_are_its_own_or_its_coded_form_s(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    for coded in (False, True):
        content = content_of_file(path, "b", coded=coded, priority=2.0, turns=3)
        assert content.manifest == manifest(DATA, "b")
        assert content.md5 == hashlib.md5(DATA).digest()
        data = content.data.read(0, content.data.size)
        assert (gzip.decompress(data) if coded else data) == DATA
        assert (content.priority, content.turns) == (2.0, 3)
    with pytest.raises(FileError, match="refuse"):
        content_of_file(path, ".hidden")


def test_a_file_that_changes_while_it_is_sent_is_sent_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hosts.programs.shelf.MOST_OPEN", 2)
    monkeypatch.setattr("hosts.programs.shelf.FileBytes._open", OrderedDict())
    files = []
    for name in "abcd":
        (tmp_path / name).write_bytes(DATA)
        files.append(FileBytes(tmp_path / name))
    for file in files + files[::-1]:
        assert file.read(5, 3) == DATA[5:8]
    assert len(FileBytes._open) == 2
    (tmp_path / "a").write_bytes(DATA + b"more")
    with pytest.raises(FileError, match="changed"):
        files[0].read(0, 1)
    files[1].close()
    (tmp_path / "b").unlink()
    with pytest.raises(FileError, match="No such file"):
        files[1].read(0, 1)
    for file in files:
        file.close()


def test_a_file_comes_together_in_any_order_and_by_two_receivers(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    room = folder.room()
    assert room.object.read(0, 1) == room.symbols.read(0, 1) == b""
    room.object.write(100, DATA[100:])
    room.symbols.write(5, b"what is left")
    room = Folder(tmp_path).room()
    assert room.symbols.read(5, 99) == b"what is left"
    room.object.write(0, DATA[:100])
    assert folder.room(key="other").object.read(0, 1) == b""
    assert all(name.startswith(".") for name in folder.names)
    folder.room().keep(manifest(DATA), None)
    assert folder.names == ["a"]
    assert (tmp_path / "a").read_bytes() == DATA
    assert folder.told == [manifest(DATA)]
    assert folder.cache == ["no-cache"]


def test_a_coded_object_becomes_the_file(tmp_path: Path) -> None:
    room = Folder(tmp_path).room()
    room.object.write(0, gzip.compress(DATA))
    room.keep(manifest(DATA), iter([DATA[:9], DATA[9:]]))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == DATA


def test_what_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(DATA)
    folder = Folder(tmp_path)
    assert folder.shelf.room("a", manifest(DATA).sha256, "k", 7) is None
    assert folder.told == [manifest(DATA)]
    assert folder.cache == [7]
    with pytest.raises(FileError, match="exists") as raised:
        folder.room(b"other")
    assert raised.value.reason == Reason.REFUSED_FILE
    room = Folder(tmp_path, "replace").room(b"other")
    room.object.write(0, b"other")
    room.keep(manifest(b"other"), None)
    assert (tmp_path / "a").read_bytes() == b"other"


def test_a_link_in_the_place_of_an_unfinished_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(DATA)
    room = Folder(tmp_path).room()
    room.object.write(0, b"x")
    (unfinished,) = [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    unfinished.unlink()
    unfinished.symlink_to(tmp_path / "precious")
    for use in (lambda: room.object.write(0, b"x"), lambda: room.object.read(0, 1)):
        with pytest.raises(FileError, match="cannot write"):
            use()
    assert (tmp_path / "precious").read_bytes() == DATA
    room.clear()
    assert (tmp_path / "precious").exists()


def test_a_file_that_has_no_room_is_refused_unless_it_has_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Space:
        f_bavail, f_frsize = 1, 4096

    folder = Folder(tmp_path)
    room = folder.room()
    assert [folder.shelf.begun, room.object.write(0, bytes(8192)), folder.shelf.begun] == ["", None, "a"]  # type: ignore[func-returns-value]
    monkeypatch.setattr("os.statvfs", lambda path: Space)
    assert folder.shelf.room("a", "", "k", size=8192 + 4096) is not None
    for key in ("k", "other"):
        with pytest.raises(FileError, match=r"a: cannot write: No space .* needed, and 4096 are free") as raised:
            folder.shelf.room("a", "", key, size=8192 + 4097)
        assert raised.value.reason == Reason.NO_ROOM


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(FileError) as raised:
        Folder(tmp_path)
    assert raised.value.reason == Reason.CANNOT_WRITE
