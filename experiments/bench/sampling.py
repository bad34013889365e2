"""Runs an agent in this process and finds out what its processor time goes into: `python -m experiments.bench.sampling
OUT send ...`, with what follows `canopy`; OUT gets seconds by part, as JSON.

So many times a second of processor time a signal comes, and what the main thread did with its time since the last one
is counted for the innermost function that belongs to a part. Time within a system call or in Rust counts for the Python
function that called it.
"""

import json
import runpy
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Final

EVERY_S: Final = 0.001
START, LOOP, THREADS = "before the loop runs", "event loop", "other threads: disk, SHA-256"
PARTS: Final = (
    ("hosts/runtime/datagrams.py:Inbox", "reading from the kernel"),
    ("hosts/runtime/datagrams.py:Outbox", "handing to the kernel"),
    ("hosts/wire/tree/", "hashes of packets"),
    ("hosts/parts/fec/", "RaptorQ"),
    ("hosts/parts/runs.py", "packets' heads"),
    ("/packets.py:", "packets' heads"),
    ("hosts/protocols/", "protocol"),
    ("hosts/parts/", "protocol"),
    ("hosts/runtime/disk.py", "file and application"),
    ("hosts/application.py", "file and application"),
    ("hosts/programs/", "file and application"),
    ("hosts/runtime/", LOOP),
)
"""What a function's place, file and name, has in it; and the part that it is counted for. The first one holds."""
_TREE: Final = str(Path(__file__).parents[2])


def part_of(places: list[str]) -> str:
    """The part of a stack, the innermost function first."""
    if not any(place.endswith("run_forever") for place in places):
        return START
    return next((part for place in places for within, part in PARTS if within in place), LOOP)


def _places(frame: FrameType | None) -> list[str]:
    found = []
    while frame is not None:
        code = frame.f_code
        found.append(f"{code.co_filename.removeprefix(_TREE)}:{code.co_qualname}")
        frame = frame.f_back
    return found


class Sampler:
    """Of this process, from its making on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._told = time.thread_time()
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        now = time.thread_time()
        self.seconds[part_of(_places(frame))] += now - self._told
        self._told = now

    def end(self) -> dict[str, float]:
        """Seconds by part, all of the process's."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self._tick(signal.SIGPROF, sys._getframe())
        self.seconds[THREADS] = max(0.0, time.process_time() - time.thread_time())
        return dict(self.seconds)


def main(out: Path, arguments: list[str]) -> None:
    """See the module."""
    sampler = Sampler()
    sys.argv = ["canopy", *arguments]
    try:
        runpy.run_module("hosts.programs.cli", run_name="__main__", alter_sys=True)
    finally:
        out.write_text(json.dumps(sampler.end()), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
