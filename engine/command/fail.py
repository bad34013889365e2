"""How a command gives up."""

from typing import NoReturn

import typer

from engine.command.exits import EXIT_BAD_INPUT


def fail(message: str, status: int = EXIT_BAD_INPUT) -> NoReturn:
    """Say why on standard error, and end the command. Raises typer.Exit."""
    typer.echo(f"canopy: {message}", err=True)
    raise typer.Exit(status)
