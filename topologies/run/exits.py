"""Exit statuses of commands that run something, and how a command gives up."""

import signal
from typing import Final, NoReturn

import typer

EXIT_FAILED: Final = 1
"""It ran, and what was wanted did not come about."""
EXIT_BAD_INPUT: Final = 2
"""Nothing was run: wrong usage, a bad scenario, a missing file or program, no root."""
SIGNALLED: Final = 128
"""A shell's status of a program that a signal ended is this plus the signal's number."""
INTERRUPTED: Final = SIGNALLED + signal.SIGINT
"""After Ctrl-C."""


def fail(message: str, status: int = EXIT_BAD_INPUT) -> NoReturn:
    """Say why on standard error, and end the command. Raises typer.Exit."""
    typer.echo(f"canopy: {message}", err=True)
    raise typer.Exit(status)
