"""Files that are written whole or not at all."""

import os
from pathlib import Path

import pytest

from engine.command.whole import write_whole


def test_a_file_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "tëxt")
    with path.open("rb") as before:
        write_whole(path, b"bytes")
        assert before.read().decode() == "tëxt"
    assert path.read_bytes() == b"bytes"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "nowhere" / "file", "text")


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with pytest.raises(OSError, match="No such device"):
        write_whole(pipe, "nobody reads it")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        for path in (pipe, link):
            write_whole(path, "text")
            assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, "text")
    assert sorted(tmp_path.iterdir()) == [link, pipe]
