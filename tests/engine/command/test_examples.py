"""Every command's help has an example, of options that the command has."""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from engine.command.assemble import PARTS, build
from engine.command.examples import EXAMPLES


def leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Each command below this one that can be run, by its words."""
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(words), command
        return
    for name, one in below.items():
        yield from leaves(one, (*words, name))


def commands(part: Any) -> dict[str, Any]:
    root = typer.main.get_command(build([next(iter(part.commands))]))
    return dict(leaves(root, ()))


def shell_words(arguments: str) -> list[str]:
    """Those of the command itself: what follows a pipe or a redirection is the shell's."""
    words = shlex.split(arguments)
    return words[: next((at for at, word in enumerate(words) if word in ("|", ">")), len(words))]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.module)
def test_every_command_has_an_example_and_the_options_that_it_shows(part: Any) -> None:
    for words, command in commands(part).items():
        context = command.context_class(command)
        if words in EXAMPLES:
            arguments = shell_words(EXAMPLES[words])
            assert command.epilog == f"Example: canopy {words} {EXAMPLES[words]}".rstrip()
            _, rest, _ = command.make_parser(context).parse_args([*arguments])
            needed = [one for one in command.params if one.param_type_name == "argument" and one.required]
            assert len(arguments) >= len(needed), words
            assert not [word for word in rest if word.startswith("--")] or "--" in arguments, words
        else:
            assert f"canopy {words} " in " ".join((command.help or "").split()), words


def test_examples_are_of_commands_that_there_are() -> None:
    assert set(EXAMPLES) <= {words for part in PARTS for words in commands(part)}
