"""The processes of an emulation: each in a process group of its own, with its log, and never outliving the runner."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from topologies.emulation.kernel import dying_with_parent

_POLL_S = 0.02
_LOG_TAIL_LINES = 4


class ChildError(Exception):
    """A process did not start, or did not become ready; one line for the user."""


class Child:
    """A running program. To be started and stopped from the runner's main thread."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        namespace_pid: int | None = None,
        output: Path | None = None,
    ) -> None:
        """Start `command`, in the network namespace of `namespace_pid` if given.

        What it says is appended to `log`, standard output to the file `output` if given.

        ChildError when the program cannot be run."""
        self.name = name
        self.log = log
        self.command = tuple(command)
        prefix = () if namespace_pid is None else ("mnexec", "-a", str(namespace_pid))
        try:
            with log.open("ab") as errors, (output or log).open("ab") as results:
                self._process = subprocess.Popen(
                    dying_with_parent([*prefix, *command]),
                    stdin=subprocess.DEVNULL,
                    stdout=results,
                    stderr=errors,
                    start_new_session=True,
                )
        except OSError as error:
            raise ChildError(f"{name}: cannot run {command[0]}: {error.strerror or error}") from None

    @property
    def pid(self) -> int:
        """Its pid, and its process group's."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """The last lines of its log, on one line."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return " | ".join(lines[-_LOG_TAIL_LINES:]) or "it said nothing"

    def wait_until(self, is_ready: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait for a condition. ChildError when the process ends before it, or the time is over."""
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if self.returncode is not None:
                raise ChildError(f"{self.name} ended with status {self.returncode}: {self.last_words()}")
            if time.monotonic() > deadline:
                raise ChildError(f"{self.name} was not {what} within {timeout_s:g} s (see {self.log})")
            time.sleep(_POLL_S)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole process group, while the process itself lives."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        self._process.wait()

    def stop(self, grace_s: float = 3.0) -> None:
        """Ask it to end, and kill it when it has not within `grace_s` seconds."""
        if self.returncode is None:
            self.signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        self.kill()


def stop_all(children: Sequence[Child], grace_s: float = 3.0) -> None:
    """Stop several at once, so that their graces run at the same time."""
    for child in children:
        if child.returncode is None:
            child.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while any(child.returncode is None for child in children) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for child in children:
        child.kill()


def accepts_connections(address: str) -> bool:
    """Whether something listens on a `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1.0):
            return True
    except OSError:
        return False
