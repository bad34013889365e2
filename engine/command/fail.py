"""How a command gives up."""

from typing import NoReturn

import typer

from engine.command.exits import EXIT_BAD_INPUT
from engine.command.lines import complain


def fail(problem: object, status: int = EXIT_BAD_INPUT, of: str = "canopy") -> NoReturn:
    """Say why on standard error, and end the command, which is `of` the program. Raises typer.Exit."""
    complain(problem, of)
    raise typer.Exit(status)
