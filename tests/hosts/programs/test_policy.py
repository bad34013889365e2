"""What an unattended receiver takes."""

from pathlib import Path

import pytest

from hosts.programs.policy import Policy, parse_size
from hosts.wire.contents import Contents, Entry, Kind
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason


def contents(name: str, size: int) -> Contents:
    return Contents((Entry(name, size),))


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("17", 17), ("2k", 2000), ("1.5M", 1_500_000), ("3G", 3 * 10**9)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1x", "1 M", "M", "1e6", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (contents("a.iso", 100), None),
        (contents("A.ISO", 100), "none of"),
        (contents("a.iso.sh", 100), "none of"),
        (contents("a.iso", 101), "100 are the most"),
    ],
)
def test_names_and_sizes(sent: Contents, message: str | None, tmp_path: Path) -> None:
    policy = Policy(tmp_path, 100, None, ("*.iso", "report-?.pdf"))
    if message is None:
        policy.check(sent)
        return
    with pytest.raises(FileError, match=message) as error:
        policy.check(sent)
    assert error.value.reason is Reason.REFUSED_FILE


def test_the_number_of_files(tmp_path: Path) -> None:
    """One that takes the place of another makes no more of them."""
    (tmp_path / "there").touch()
    (tmp_path / ".being-received").touch()
    (tmp_path / "folder").mkdir()
    Policy(tmp_path, max_files=3).check(contents("new", 1))
    Policy(tmp_path, max_files=2).check(contents("there", 1))
    with pytest.raises(FileError, match="more than 2 files"):
        Policy(tmp_path, max_files=2).check(contents("new", 1))


def test_several_files_are_taken_or_not_as_a_whole(tmp_path: Path) -> None:
    both = Contents((Entry("f", kind=Kind.FOLDER), Entry("f/a.iso", 1), Entry("f/b", 1)))
    Policy(tmp_path, max_files=2).check(both)
    with pytest.raises(FileError, match="f/b: its name"):
        Policy(tmp_path, patterns=("*.iso",)).check(both)
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "c").touch()
    with pytest.raises(FileError, match="more than 2 files"):
        Policy(tmp_path, max_files=2).check(both)
