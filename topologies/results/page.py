"""The page of a run that goes on: served by a process of its own, outside the run's network, which outlives a crash."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.command.programs import module_command
from engine.command.signals import Interrupted, interruptible

START_S = 20.0
"""A busy machine takes some seconds to start Python."""
STOP_S = 5.0


class PageError(Exception):
    """The page cannot be served; one line for the user."""


class Page:
    """A run's page. `show` is to be called before the run's process moves to another network namespace."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` shows a line."""
        self._say = say
        self._process: subprocess.Popen[str] | None = None

    def show(self, folder: Path) -> None:
        """Serve a run folder, and say where. PageError."""
        command = module_command("topologies.web", str(folder), "--parent", str(os.getpid()))
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        watchdog = threading.Timer(START_S, self._process.kill)
        watchdog.start()
        link = self._process.stdout.readline().strip()
        watchdog.cancel()
        if not link:
            raise PageError("the page's server did not start")
        self._say(f"{link} shows the run")

    def wait(self) -> None:
        """Keep the page until a signal comes."""
        if self._process is None:
            return
        self._say("the page stays until Ctrl-C")
        with contextlib.suppress(Interrupted), interruptible():
            self._process.wait()

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_S)


@contextlib.contextmanager
def page_for(say: Callable[[str], None]) -> Iterator[Page]:
    """A page that is gone afterwards."""
    page = Page(say)
    try:
        yield page
    finally:
        page.stop()
