"""Files and folders to send, and where they are received."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A file."""
    path = tmp_path / "a file.bin"
    path.write_bytes(os.urandom(10_123))
    return path


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The receiver's, which is not there yet."""
    return tmp_path / "in"
