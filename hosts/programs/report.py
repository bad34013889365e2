"""How a program says that nothing was run."""

import contextlib
from collections.abc import Iterator

import typer

from engine.command.exits import EXIT_BAD_INPUT, EXIT_INTERRUPTED
from hosts.programs.driver import INTERRUPTED
from hosts.programs.progress import Display
from hosts.runtime.sockets import SocketError
from hosts.wire.manifest import FileError


@contextlib.contextmanager
def reporting(display: Display) -> Iterator[None]:
    """Says why a command ends before its session did: a user's mistake, or an interruption as a large file is hashed.

    What it raises is the exit status."""
    try:
        yield
    except KeyboardInterrupt:
        display.fail(INTERRUPTED)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except (ValueError, FileError, SocketError, OSError) as error:
        raise bad_input(display, error) from None


def bad_input(display: Display, error: Exception) -> typer.Exit:
    """One line on standard error, and the exit status to raise."""
    if isinstance(error, OSError) and error.filename is not None:
        display.fail(f"{error.filename}: {error.strerror}")
    else:
        display.fail(str(getattr(error, "strerror", None) or error))
    return typer.Exit(EXIT_BAD_INPUT)
