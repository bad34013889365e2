"""How a program says that nothing was run."""

import typer

from engine.command.exits import EXIT_BAD_INPUT
from hosts.programs.progress import Display


def bad_input(display: Display, error: Exception) -> typer.Exit:
    """One line on standard error, and the exit status to raise."""
    if isinstance(error, OSError) and error.filename is not None:
        display.fail(f"{error.filename}: {error.strerror}")
    else:
        display.fail(str(error))
    return typer.Exit(EXIT_BAD_INPUT)
