"""The `canopy` command: what it has, what it imports, how it refuses."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from rich.text import Text
from typer.testing import CliRunner

from engine.command.assemble import PARTS, build, part_for, run

COMMANDS = [command for part in PARTS for command in part.commands]


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(build(["--help"]), ["--help"])
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    for part in PARTS:
        for command, words in part.commands.items():
            assert any(f"{command} {words}" in line for line in lines)  # on one line, and not cut short


def test_a_part_has_the_commands_that_are_listed() -> None:
    for part in PARTS:
        found = typer.main.get_command(build([next(iter(part.commands))]))
        assert list(getattr(found, "commands", {})) == list(part.commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(build([command]), [command, "--help"])
    assert result.exit_code == 0, result.output
    assert "Usage" in result.output


def helped(command: Any) -> Iterator[str]:
    """The help texts of a command, its parameters and its subcommands, as written."""
    for text in (command.help, *(getattr(parameter, "help", None) for parameter in command.params)):
        yield text or ""
    for below in getattr(command, "commands", {}).values():
        yield from helped(below)


def test_nothing_in_a_help_text_is_taken_for_markup() -> None:
    """Rich swallows what stands in brackets, such as a default."""
    commands = (typer.main.get_command(build([next(iter(part.commands))])) for part in PARTS)
    texts = [text for command in commands for text in helped(command)]
    assert len(texts) > 100
    assert [text for text in texts if Text.from_markup(text).plain != text] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"canopy \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_unknown_command_is_wrong_usage() -> None:
    result = CliRunner().invoke(build(["no-such-command"]), ["no-such-command"])
    assert result.exit_code == 2


def test_only_the_part_asked_for_is_loaded() -> None:
    part = part_for(["recv", "--group", "232.1.1.1"])
    assert part is not None
    assert part.module == "hosts.programs.cli"
    script = "import sys; from engine.command.assemble import build; build(['recv']); print('mininet' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize("arguments", [["--help"], ["recv", "--help"], ["send", "--help"]], ids=" ".join)
def test_help_is_quick(arguments: list[str]) -> None:
    """Most of half a second would be what draws tables and bars."""
    script = (
        "import atexit, sys\n"
        "slow = {'rich', 'numpy', 'scapy', 'finsy', 'hosts.protocols.mtcp', 'hosts.protocols.webrc'}\n"
        "atexit.register(lambda: print(sorted(slow & set(sys.modules))))\n"
        f"sys.argv = ['canopy', *{arguments}]\n"
        "from engine.command.entry import main\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Usage: canopy ")
    assert result.stdout.splitlines()[-1] == "[]"


def test_nothing_said_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["keys"]) == 2
    said = capsys.readouterr()
    assert "Usage:" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such"],
        ["send"],
        ["send", "x", "--port", "99999"],
        ["send", "x", "--rate-limit", "1Mbps"],
        ["send", "x", "--rate-limit", "nan"],
        ["broadcast", "x", "--max-rate", "1Mbps"],
        ["ctl", "switches", "--no"],
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith("canopy: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["recv", "--rate-limit", "5e6"], " (it is one of canopy send)"),
        (["stream", "recv", "--rate-limit", "5e6"], " (it is one of canopy stream send)"),
        (["recv", "--no-such"], ""),
    ],
)
def test_an_option_of_the_other_end_is_refused_with_its_place(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    option = next(word for word in arguments if word.startswith("--"))
    assert capsys.readouterr().err == f"canopy: No such option: {option}{hint}\n"


def test_an_interrupted_import_is_no_traceback() -> None:
    script = (
        "import sys, types\n"
        "broken = types.ModuleType('engine.command.assemble')\n"
        "def interrupted(arguments): raise KeyboardInterrupt\n"
        "broken.run = interrupted\n"
        "sys.modules['engine.command.assemble'] = broken\n"
        "from engine.command.entry import main\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "")


@pytest.mark.parametrize(
    ("output", "said"), [("> /dev/full", "canopy: No space left on device\n"), ("| true", "")], ids=["full", "closed"]
)
def test_output_that_nobody_takes_is_no_traceback(output: str, said: str) -> None:
    script = "from engine.command.entry import main; main()"
    shell = [
        "bash",
        "-c",
        f'set -o pipefail; "$@" {output}',
        "bash",
        sys.executable,
        "-c",
        script,
        "scenario",
        "schema",
    ]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, said)
