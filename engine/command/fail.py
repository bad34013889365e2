"""How a command gives up."""

from typing import NoReturn

import typer

from engine.command.exits import EXIT_BAD_INPUT
from engine.command.lines import complain


def fail(message: str, status: int = EXIT_BAD_INPUT) -> NoReturn:
    """Say why on standard error, and end the command. Raises typer.Exit."""
    complain(message)
    raise typer.Exit(status)
