"""No command takes empty text for a path."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from engine.command.assemble import PARTS, build, run
from engine.command.paths import refuse_empty_paths


def paths_of(command: Any) -> Iterator[Any]:
    """What its parameters, and those of the commands below it, make a path of."""
    for parameter in command.params:
        if parameter.type.name == "path":
            yield parameter.type
    for below in getattr(command, "commands", {}).values():
        yield from paths_of(below)


def test_of_every_command() -> None:
    found: list[Any] = []
    for part in PARTS:
        command = typer.main.get_command(build([next(iter(part.commands))]))
        refuse_empty_paths(command)
        found += paths_of(command)
    assert len(found) > 50
    for each in found:
        assert each.convert("a", None, None) == "a"
        with pytest.raises(typer.BadParameter, match="it is empty"):
            each.convert("", None, None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["send", "", "--group", "239.1.1.1", "--port", "5000"],
        ["send", "a", "", "--group", "239.1.1.1", "--port", "5000"],
        ["recv", "--group", "239.1.1.1", "--port", "5000", "--out", ""],
        ["broadcast", "", "--group", "232.1.1.1", "--port", "5000"],
        ["simulate", ""],
        ["scenario", "check", ""],
        ["simulate", "a", "--out="],
    ],
    ids=" ".join,
)
def test_is_one_line_and_bad_input(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert re.fullmatch(
        r"canopy: Invalid value for '.*': it is empty, and names no file or folder\n", capfd.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []
