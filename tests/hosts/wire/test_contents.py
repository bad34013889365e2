"""The list of a session's files: what it says comes out again, and no bytes of a stranger do harm."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.contents import (
    ENTRY,
    HEAD,
    MOST_BYTES,
    MOST_ENTRIES,
    MOST_NAMES,
    PATH_MAX_BYTES,
    VERSION,
    Contents,
    Entry,
    Kind,
    unsafe_path,
)
from hosts.wire.manifest import MAGIC, FileError, Manifest
from hosts.wire.reason import Reason

DIGEST = "ab" * 32
TREE = Contents(
    (
        Entry("top", kind=Kind.FOLDER, mode=0o755, mtime_ns=-1),
        Entry("top/a", 5, DIGEST, Kind.KEPT_FILE, 0o640, 1_700_000_000_123_456_789),
        Entry("b", 7, DIGEST),
    )
)


def names() -> st.SearchStrategy[str]:
    return st.text(min_size=1, max_size=8).filter(lambda name: unsafe_path(name) is None)


@st.composite
def lists(draw: st.DrawFn) -> Contents:
    entries = []
    for name in draw(st.lists(names(), min_size=1, max_size=6, unique=True)):
        kind = draw(st.sampled_from(Kind))
        kept = kind is not Kind.FILE
        entries.append(
            Entry(
                name,
                0 if kind is Kind.FOLDER else draw(st.integers(0, 2**40)),
                "0" * 64 if kind is Kind.FOLDER else draw(st.binary(min_size=32, max_size=32)).hex(),
                kind,
                draw(st.integers(0, 0o777)) if kept else 0,
                draw(st.integers(-(2**63), 2**63 - 1)) if kept else 0,
            )
        )
    return Contents(tuple(entries))


def check(contents: Contents) -> None:
    """What may stand in a folder."""
    for entry in contents.entries:
        assert unsafe_path(entry.path) is None
        assert 0 <= entry.mode <= 0o777
    assert len({entry.path for entry in contents.entries}) == len(contents.entries)


@given(lists(), st.integers(0, 2**40), st.binary(max_size=20), st.data())
def test_there_and_back(contents: Contents, first: int, rest: bytes, data: st.DataObject) -> None:
    first = min(first, contents.size)
    stream = contents.head(first) + rest
    cut = data.draw(st.integers(0, len(contents.head(first)) - 1))
    assert Contents.take(bytearray(stream[:cut])) is None
    head = bytearray(stream)
    assert Contents.take(head) == (contents, first)
    assert head == rest


@given(st.binary(max_size=300))
def test_any_bytes_are_a_list_or_an_error(body: bytes) -> None:
    with contextlib.suppress(FileError):
        check(Contents.decode(body))


@given(st.integers(0, len(TREE.encode()) - 1), st.integers(0, 255), st.integers(0, 400))
def test_a_damaged_list_is_another_or_an_error(at: int, value: int, length: int) -> None:
    body = bytearray(TREE.encode())
    body[at] = value
    with contextlib.suppress(FileError):
        check(Contents.decode(bytes(body[:length])))


@given(st.binary(max_size=100))
def test_any_head(rest: bytes) -> None:
    for start in (b"", MAGIC, MAGIC + bytes([VERSION])):
        head = bytearray(start + rest)
        with contextlib.suppress(FileError):
            taken = Contents.take(head)
            assert taken is None or taken[1] <= taken[0].size


def test_a_single_file_has_the_head_that_it_always_had() -> None:
    single = Contents((Entry("b", 7, DIGEST),))
    assert single.head() == Manifest("b", 7, DIGEST).encode()
    assert single.head(3)[:5] == MAGIC + b"\2"
    assert single.single == single.entries[0]
    assert (single.label, TREE.label, TREE.single) == ("b", "2 files", None)


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["/etc/passwd"], "refused"),
        (["a/../../b"], "refused"),
        (["a//b"], "refused"),
        (["a/"], "refused"),
        (["a/.ssh/x"], "refused"),
        (["a\\b"], "refused"),
        (["a\0"], "refused"),
        ([""], "refused"),
        (["/".join("x" * (MOST_NAMES + 1))], "too deep"),
        (["/".join(["x" * 200] * (PATH_MAX_BYTES // 200 + 1))], "too long"),
        (["a", "a"], "two files"),
        (["a", "a/b"], "a file and a folder"),
        (["a/b/c", "a"], "a file and a folder"),
        ([], "empty"),
    ],
)
def test_paths_that_are_refused(paths: list[str], message: str) -> None:
    body = b"".join(ENTRY.pack(0, 0, len(path.encode()), 0, 1, bytes(32)) + path.encode() for path in paths)
    with pytest.raises(FileError, match=message) as error:
        Contents.decode(body)
    assert error.value.reason is Reason.REFUSED_FILE


@pytest.mark.parametrize(
    "values",
    [
        (3, 0, 1, 0, 0, bytes(32)),
        (1, 0o4755, 1, 0, 0, bytes(32)),
        (0, 0o644, 1, 0, 0, bytes(32)),
        (2, 0o755, 1, 0, 1, bytes(32)),
        (2, 0o755, 1, 0, 0, bytes(31) + b"x"),
        (0, 0, 2, 0, 0, bytes(32)),
        (0, 0, 1, 0, 2**63, bytes(32)),
    ],
)
def test_values_that_are_refused(values: tuple[int, int, int, int, int, bytes]) -> None:
    with pytest.raises(FileError, match="refused"):
        Contents.decode(ENTRY.pack(*values) + b"a")


def test_it_is_bounded() -> None:
    with pytest.raises(FileError, match="are the most"):
        Contents.take(bytearray(HEAD.pack(MAGIC, VERSION, MOST_BYTES + 1, 0)))
    empty = ENTRY.pack(0, 0, 1, 0, 0, bytes(32))
    with pytest.raises(FileError, match="more than"):
        Contents.decode((empty + b"a") * (MOST_ENTRIES + 1))
    with pytest.raises(FileError, match="behind its end"):
        Contents.take(bytearray(TREE.head(13)))
