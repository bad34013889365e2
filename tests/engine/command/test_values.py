"""No command takes empty text for a path, or nan for a number."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from engine.command.assemble import PARTS, build, run
from engine.command.values import refuse_senseless

EMPTY = "it is empty, and names no file or folder"
NAN = "nan is no number"


def parameters_of(command: Any) -> Iterator[Any]:
    """All of its own, and of the commands below it."""
    yield from command.params
    for below in getattr(command, "commands", {}).values():
        yield from parameters_of(below)


def test_of_every_command() -> None:
    found: list[Any] = []
    for part in PARTS:
        command = typer.main.get_command(build([next(iter(part.commands))]))
        refuse_senseless(command)
        found += parameters_of(command)
    context = typer.Context(command)
    for kind, least, good, bad, why in (("path", 50, "a", "", EMPTY), ("float", 15, "20", "nan", NAN)):
        those = [each for each in found if each.type.name.startswith(kind)]
        assert len(those) > least
        for each in those:
            is_list = getattr(each, "multiple", False) or each.nargs != 1
            each.type_cast_value(context, [good] if is_list else good)
            with pytest.raises(typer.BadParameter, match=why):
                each.type_cast_value(context, [good, bad] if is_list else bad)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["send", "", "--group", "239.1.1.1", "--port", "5000"], EMPTY),
        (["send", "a", "", "--group", "239.1.1.1", "--port", "5000"], EMPTY),
        (["send", "a", "--group", "239.1.1.1", "--port", "5000", "--wait", "nan"], NAN),
        (["recv", "--group", "239.1.1.1", "--port", "5000", "--out", ""], EMPTY),
        (["broadcast", "", "--group", "232.1.1.1", "--port", "5000"], EMPTY),
        (["simulate", ""], EMPTY),
        (["simulate", "a", "--until", "NaN"], NAN),
        (["scenario", "check", ""], EMPTY),
        (["simulate", "a", "--out="], EMPTY),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_is_one_line_and_bad_input(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    assert re.fullmatch(rf"canopy: Invalid value for '.*': {why}\n", capfd.readouterr().err)
    assert list(tmp_path.iterdir()) == []
