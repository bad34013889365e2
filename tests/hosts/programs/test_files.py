"""Files over a stream: manifests, names, disks."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.programs import files, part
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.wire.manifest import MAGIC, NAME_MAX_BYTES, PREFIX, FileError, Manifest, unsafe_name
from hosts.wire.reason import Reason


def stream_of(path: Path, piece: int = 1000) -> list[bytes]:
    """A file's stream in pieces."""
    source = FileSource(path)
    pieces = []
    while not source.exhausted:
        pieces.append(source.read(piece))
    source.close()
    assert sum(map(len, pieces)) == source.total_bytes
    return pieces


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "a file.bin"
    path.write_bytes(os.urandom(10_123))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "in"


def receive(pieces: list[bytes], sink: FileSink) -> Path:
    for piece in pieces:
        sink.write(piece)
    return sink.finish()


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
    with FileSink(folder) as sink, pytest.raises(FileError, match="No space left on device") as error:
        receive(stream_of(original), sink)
    assert error.value.reason is Reason.CANNOT_WRITE
    assert os.listdir(folder) == []


def test_a_disk_that_has_no_room_to_keep_leaves_nothing(
    large: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "reserve", full_disk)
    with FileSink(folder) as sink, pytest.raises(FileError, match="No space left on device") as error:
        receive(stream_of(large), sink)
    assert error.value.reason is Reason.CANNOT_WRITE
    assert os.listdir(folder) == []


def full_disk(*arguments: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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


# --- names and manifests from the network


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".hidden",
        "../up",
        "a/b",
        "/etc/passwd",
        "a\\b",
        "a\nb",
        "a\0b",
        "a\x1b[2J",
        "x" * 300,
        "\ud800",
        "é" * 200,
    ],
)
def test_unsafe_names(name: str, folder: Path) -> None:
    assert unsafe_name(name)
    body = json.dumps({"name": name, "size": 1, "sha256": "0" * 64}).encode()
    with FileSink(folder) as sink, pytest.raises(FileError, match="name is refused") as error:
        sink.write(PREFIX.pack(MAGIC, 1, len(body)) + body + b"x")
    assert error.value.reason is Reason.REFUSED_FILE
    assert os.listdir(folder) == []


@pytest.mark.parametrize("name", ["a", "ein schöner Name.tar.gz", "x" * NAME_MAX_BYTES, "-rf", "日本語", "~", "con"])
def test_safe_names(name: str) -> None:
    assert unsafe_name(name) is None


@given(st.text(max_size=50))
def test_a_safe_name_stays_in_its_folder(name: str) -> None:
    if unsafe_name(name) is None:
        assert os.path.dirname(os.path.normpath(os.path.join("/in", name))) == "/in"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 60_000,
        b'{"name": "a", "size": -1, "sha256": "%s"}' % (b"0" * 64),
        b'{"name": "a", "size": 1.5, "sha256": "%s"}' % (b"0" * 64),
        b'{"name": "a", "size": true, "sha256": "%s"}' % (b"0" * 64),
        b'{"name": "a", "size": 1, "sha256": "xyz"}',
        b'{"name": "a", "size": 1, "sha256": 5}',
        b'{"name": 5, "size": 1, "sha256": "%s"}' % (b"0" * 64),
    ],
)
def test_bad_manifests(body: bytes) -> None:
    with pytest.raises(FileError) as error:
        Manifest.decode(body)
    assert error.value.reason is Reason.REFUSED_FILE


@given(st.binary(max_size=200))
def test_any_bytes_as_a_manifest(body: bytes) -> None:
    with pytest.raises(FileError):
        Manifest.decode(body)


def test_another_stream(folder: Path) -> None:
    with FileSink(folder) as sink, pytest.raises(FileError, match="not a file of this version"):
        sink.write(b"GET / HTTP/1.0\r\n\r\n")
    with FileSink(folder) as sink:
        sink.write(MAGIC)
        with pytest.raises(FileError, match="before the manifest"):
            sink.finish()


# --- files to send


def test_what_cannot_be_sent(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        FileSource(tmp_path / "missing")
    with pytest.raises(FileError, match="there is no file in it"):
        FileSource(tmp_path)
    with pytest.raises(FileError, match="not a regular file"):
        FileSource(Path("/dev/null"))
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


# --- several


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files of all lengths, one of them empty, and an empty folder."""
    top = tmp_path / "tree"
    for path, size in {"a": 5000, "b/empty": 0, "b/c/deep": 1, "b/run.sh": 3000, "z": 4096}.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(os.urandom(size))
    (top / "nothing").mkdir(mode=0o750)
    (top / "b" / "run.sh").chmod(0o6751)
    os.utime(top / "a", ns=(1, 1_600_000_000_123_456_789))
    os.utime(top / "b", ns=(1, 1_500_000_000_000_000_000))
    return top


def list_of(top: Path) -> dict[str, tuple[int, int, bytes]]:
    """Permissions, times and bytes of all below a folder."""
    return {
        str(path.relative_to(top)): (
            path.stat().st_mode & 0o777,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(top.rglob("*"))
    }


def all_of(source: FileSource, piece: int = 1000) -> list[bytes]:
    pieces = []
    while not source.exhausted:
        pieces.append(source.read(piece))
    source.close()
    assert sum(map(len, pieces)) == source.total_bytes
    return pieces


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


def test_any_name_that_is_taken_refuses_all(tree: Path, folder: Path) -> None:
    (folder / "tree").mkdir(parents=True)
    (folder / "tree" / "z").write_text("mine")
    with FileSink(folder) as sink, pytest.raises(FileError, match="tree/z: File exists"):
        receive(all_of(FileSource(tree)), sink)
    assert list_of(folder / "tree").keys() == {"z"}


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


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of ten blocks."""
    monkeypatch.setattr(part, "BLOCK_BYTES", 1000)
    path = tmp_path / "large"
    path.write_bytes(os.urandom(10_000))
    return path


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
