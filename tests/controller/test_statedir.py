from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller.statedir import StateDirError, check_socket_path, claim, default_roots, find_running


@contextmanager
def listening(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(directory / "controller.sock"))
        server.listen()
        yield


def test_which_one_has_to_be_said_where_several_answer(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "nowhere", tmp_path / "b"]
    with listening(tmp_path / "a" / "tree-1"):
        with listening(tmp_path / "b" / "tree-2"), listening(tmp_path / "b" / "ring-3"):
            for name in (None, "tree"):
                with pytest.raises(StateDirError, match=r"several .*tree-1, tree-2\): say which with --run NAME"):
                    find_running(name, roots)
            assert find_running("tree-2", roots) == tmp_path / "b" / "tree-2"
            assert find_running("ring", roots) == tmp_path / "b" / "ring-3"
        assert find_running(None, roots) == tmp_path / "a" / "tree-1"  # the others' sockets are there, and are dead
    with pytest.raises(StateDirError, match="no emulation is running"):
        find_running(None, roots)
    with pytest.raises(StateDirError, match="no emulation called tree is running"):
        find_running("tree", roots)
    assert find_running(str(tmp_path), roots) == tmp_path


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
