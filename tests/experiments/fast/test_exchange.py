"""A session between two runtimes on the loopback interface, in a process of their own that runs a copy."""

import shutil
from pathlib import Path

import pytest

from experiments.fast.agreement import AgreementError
from experiments.fast.exchange import check
from hosts import compiled


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources as they are: nothing compiled, which takes minutes."""
    folder = tmp_path / "copy"
    shutil.copytree(compiled.SOURCES, folder / "hosts", ignore=shutil.ignore_patterns("__pycache__"))
    compiled.write_stamp(folder, compiled.SOURCES)
    return folder


def change(copy: Path, old: str, new: str) -> None:
    """Another hosts/runtime/datagrams.py, though the stamp says that it is not."""
    path = copy / "hosts" / "runtime" / "datagrams.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_each_comes_once(copy: Path) -> None:
    check(copy)


def test_one_that_comes_twice_is_found(copy: Path) -> None:
    change(copy, "sends = self._hand_over(sends)", "sends = self._hand_over(sends) or self._hand_over(sends)")
    with pytest.raises(AgreementError, match=r"over real sockets .* packets were sent, and .* came"):
        check(copy)


def test_a_session_that_fails_is_found(copy: Path) -> None:
    change(copy, "BATCH: Final = 32", "BATCH: Final = 0")
    with pytest.raises(AgreementError, match=r"(?s)failed: .*limit must be in"):
        check(copy)


def test_a_copy_of_other_sources_is_not_asked(copy: Path) -> None:
    stamp = next(copy.glob("*.json"))
    stamp.write_text("{}")
    with pytest.raises(AgreementError, match="changed"):
        check(copy)
