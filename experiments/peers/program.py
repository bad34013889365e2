"""A program on a host of a running emulation, and the processor time that it took."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from topologies.emulation.kernel import dying_with_parent
from topologies.emulation.state import MARK

_POLL_S: Final = 0.01


class HostProgram:
    """To be started and awaited from one thread; ends with the emulation at the latest."""

    def __init__(self, command: Sequence[str], emulation: str, log: Path) -> None:
        """`command`: behind what brings it to its host; `emulation`: its name. OSError when it cannot be run."""
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                dying_with_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, MARK: emulation},
            )
        self.log = log
        self.status: int | None = None
        """Exit status, negative for a signal; None while it runs."""
        self.cpu_s = 0.0
        """User and system time, once it has ended."""

    @property
    def pid(self) -> int:
        """Of a process in the host's namespace, once it is there."""
        return self._process.pid

    @property
    def peak_bytes(self) -> int:
        """The most memory that it has had in use (VmHWM); 0 when it has ended."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0
        return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)

    def has_ended(self) -> bool:
        """Look whether it has."""
        if self.status is None:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                self.status = self._process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = usage.ru_utime + usage.ru_stime
        return self.status is not None

    def end(self, grace_s: float = 2.0) -> None:
        """Ask it to end, and kill it when it has not."""
        for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
            if self.has_ended():
                return
            os.kill(self._process.pid, number)
            deadline = time.monotonic() + seconds
            while not self.has_ended() and time.monotonic() < deadline:
                time.sleep(_POLL_S)

    def last_words(self) -> str:
        """The last lines that it said."""
        return " | ".join(self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-4:])
