"""`canopy keys`, killed before each thing that it does to a file: what is left is what was or what is to be, and the
command, said again, does it."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hosts.programs.keyfile import read_keys
from hosts.programs.keys_cli import app
from hosts.programs.registry import Registry

WHERE = ("--at", "10.0.0.1:7400", "--session", "239.1.1.1:5000")
CHANGES = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod"}


def run(*arguments: str) -> int:
    return CliRunner().invoke(app, arguments).exit_code


def killed(folder: Path, *arguments: str) -> Iterator[int]:
    """The command is run, and killed before its first change of what is in the folder, its second, and so on; what was
    there is put back by who asks. Ends when it was not killed."""
    for number in range(100):
        child = os.fork()
        if not child:
            _die_before(number, folder)
            os._exit(run(*arguments))
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            assert number > 2
            return
        yield number
    raise AssertionError("it changes files without end")


def _die_before(number: int, folder: Path) -> None:
    left = number

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event not in CHANGES or not str(arguments[0]).startswith(str(folder)):
            return
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    sys.addaudithook(hook)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    assert run("new", "lecture", "-o", str(tmp_path), *WHERE) == 0
    return Registry(tmp_path / "lecture")


def test_a_group_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    for _ in killed(tmp_path, "new", "lecture", "-o", str(tmp_path), *WHERE):
        assert not (tmp_path / "lecture").exists()
    assert Registry(tmp_path / "lecture").members().members == {}


@pytest.mark.parametrize("command", ["enroll", "revoke"])
def test_members_are_what_they_were_or_what_they_are_to_be(registry: Registry, command: str) -> None:
    folder = str(registry.folder)
    assert run("enroll", folder, "alice") == 0
    name = "bob" if command == "enroll" else "alice"
    before = registry.members()
    for _ in killed(registry.folder, command, folder, name):
        now = registry.members()
        if now != before:
            assert now.members["alice"].expelled == (command == "revoke")
            assert ("bob" in now.members) == (command == "enroll")
            registry.keep_members(before)
    assert registry.members() != before
    assert run("enroll", folder, "carol") == 0
    assert not list(registry.folder.glob(".*.tmp")), "what the killed ones had begun to write is gone"


def test_a_key_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    assert run("new", "lecture", "-o", str(tmp_path)) == 0
    path = tmp_path / "lecture.keys"
    before = read_keys(path)
    for _ in killed(tmp_path, "roll", str(path)):
        assert read_keys(path).epochs[0] == before.epochs[0]
        path.write_text(before.text)
    assert len(read_keys(path).epochs) == 2
