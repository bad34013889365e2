from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.statedir import StateDirError, check_socket_path, claim, default_roots, find_running


@contextmanager
def listening(directory: Path, age_s: float = 0.0) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(directory / "controller.sock"))
        server.listen()
        stamp = 1e9 - age_s
        os.utime(directory / "controller.sock", (stamp, stamp))
        yield


def test_the_newest_that_answers_is_found(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "nowhere", tmp_path / "b"]
    with listening(tmp_path / "a" / "old", 20.0), listening(tmp_path / "b" / "new", 10.0):
        with listening(tmp_path / "b" / "dead"):
            assert find_running(roots) == tmp_path / "b" / "dead"
        assert find_running(roots) == tmp_path / "b" / "new"
    with pytest.raises(StateDirError, match="no emulation is running"):
        find_running(roots)


def test_roots_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CANOPY_STATE_ROOT", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert default_roots() == [Path("/run/canopy"), Path("/run/user/7/canopy")]
    monkeypatch.setenv("CANOPY_STATE_ROOT", "/elsewhere")
    assert default_roots() == [Path("/elsewhere")]


def test_one_controller_a_directory(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "state"
    with claim(directory):
        assert (directory / "sessions").is_dir()
        with pytest.raises(StateDirError, match="a controller runs there already"), claim(directory):
            pass
    (directory / "controller.sock").touch()  # left behind by one that was killed
    with claim(directory):
        assert not (directory / "controller.sock").exists()


def test_directories_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateDirError, match="Not a directory"), claim(tmp_path / "file" / "state"):
        pass
    with pytest.raises(StateDirError, match="longer than the 107 bytes"):
        check_socket_path(tmp_path / ("x" * 100))
