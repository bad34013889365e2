"""Logging to stderr, and finsy's log records made fit for an operator."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable

import finsy as fy

_FAILED_TASK = re.compile(r"^fy:(?P<switch>[^|]+)")
_TASK_NAME = re.compile(r"^\[(?P<switch>[^|\]]+)[|\]]")


def set_up(verbose: bool = False) -> None:
    """Log to stderr: with rich on a terminal, else one plain line a record."""
    handler: logging.Handler
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.logging import RichHandler

        handler = RichHandler(console=Console(stderr=True), show_path=False, rich_tracebacks=False)
        form = "%(message)s"
    else:
        handler = logging.StreamHandler(sys.stderr)
        form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, format=form, handlers=[handler])
    for name in ("finsy", "grpc", "asyncio"):
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)


class FinsyFilter(logging.Filter):
    """Turns what finsy only logs into calls.

    It drops digests when they are not read in time: `digests_lost(switch)`. A task of a connection fails, which for a
    switch that goes away is no defect worth a traceback: `failed(switch, what happened)`.
    """

    def __init__(self, digests_lost: Callable[[str], None], failed: Callable[[str, str], None]) -> None:
        super().__init__()
        self._digests_lost = digests_lost
        self._failed = failed

    def filter(self, record: logging.LogRecord) -> bool:
        """False for a record that was dealt with."""
        message = str(record.msg)
        if "digest ignored" in message:
            task = _TASK_NAME.match(message)
            if task is not None:
                self._digests_lost(task["switch"])
            return False
        if "Switch task %r failed" in message and record.exc_info and isinstance(record.args, tuple):
            task = _FAILED_TASK.match(str(record.args[0]))
            if task is not None:
                self._failed(task["switch"], describe_failure(record.exc_info[1]))
                return False
        return "gNMI is not implemented" not in message and "packet ignored" not in message


def describe_failure(error: BaseException | None) -> str:
    """An exception as one line."""
    if isinstance(error, fy.P4ClientError) and error.code == fy.GRPCStatusCode.UNAVAILABLE:
        return f"not reachable: {error.message.rsplit(': ', 1)[-1]}"
    if isinstance(error, fy.P4ClientError):
        first = next(iter(error.details.values()), None)
        code, message = (error.code, error.message) if first is None else (first.canonical_code, first.message)
        more = f" (and {len(error.details) - 1} more)" if len(error.details) > 1 else ""
        return f"{code.name}: {message}{more}" if message else f"{code.name}{more}"
    if isinstance(error, RuntimeError) and "EOF" in str(error):
        return "the switch ended the connection"
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
