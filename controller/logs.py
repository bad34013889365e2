"""Logging to stderr, and finsy's log records made fit for an operator."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable

from rich.console import Console
from rich.logging import RichHandler

_TASK_NAME = re.compile(r"^\[(?P<switch>[^|\]]+)[|\]]")


def set_up(verbose: bool = False) -> None:
    """Log to stderr: with rich on a terminal, else one plain line a record."""
    handler: logging.Handler
    if sys.stderr.isatty():
        handler = RichHandler(console=Console(stderr=True), show_path=False, rich_tracebacks=False)
        form = "%(message)s"
    else:
        handler = logging.StreamHandler(sys.stderr)
        form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, format=form, handlers=[handler])
    for name in ("finsy", "grpc", "asyncio"):
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)


class FinsyFilter(logging.Filter):
    """finsy drops digests when nobody reads them in time, and says so in its log only: `digests_lost(switch)` is called
    for it. Failures of its tasks become one line without a traceback, for a switch that goes away is no defect."""

    def __init__(self, digests_lost: Callable[[str], None]) -> None:
        super().__init__()
        self._digests_lost = digests_lost

    def filter(self, record: logging.LogRecord) -> bool:
        message = str(record.msg)
        if "digest ignored" in message:
            task = _TASK_NAME.match(message)
            if task is not None:
                self._digests_lost(task["switch"])
            return False
        if "gNMI is not implemented" in message or "packet ignored" in message:
            return False
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            record.msg = f"{record.getMessage()}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
            record.args = None
            record.exc_info = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
