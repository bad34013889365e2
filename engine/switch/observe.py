"""What a running switch shows of itself on request: metrics, captures of its ports, a trace of its packets."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from canopy_engine import Switch

# Lines that may wait to be written; a packet of our program makes some fifty.
TRACE_LINES = 100_000

_TRACE_INTERVAL_S = 0.05
_TRACE_BATCH = 4096


@dataclass(frozen=True)
class ObserveOptions:
    """`metrics`: host and port. `pcap`: the folder; `pcap_ports`: only these, none: all; `pcap_limit_bytes`: of a
    file."""

    metrics: tuple[str, int] | None = None
    pcap: Path | None = None
    pcap_ports: frozenset[int] = frozenset()
    pcap_limit_bytes: int = 1 << 30
    trace: bool = False

    def captures(self, port: int) -> bool:
        """Whether a port's frames are written down."""
        return self.pcap is not None and (not self.pcap_ports or port in self.pcap_ports)


class TraceWriter:
    """Writes the lines of whichever switch forwards, until `stop`."""

    def __init__(self, current: Callable[[], Switch | None], out: TextIO | None = None) -> None:
        self._current = current
        self._out = out if out is not None else sys.stderr
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="switch trace", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_TRACE_INTERVAL_S):
            self._write()
        self._write()

    def _write(self) -> None:
        switch = self._current()
        while switch is not None and (lines := switch.take_trace(_TRACE_BATCH)):
            self._out.write("\n".join(lines) + "\n")
            self._out.flush()
