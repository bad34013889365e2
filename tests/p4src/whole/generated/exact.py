"""simple_switch_grpc with a clock that the test moves: a library of twenty lines takes the place of the system's."""

import mmap
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.p4src.bench.bmv2 import SimpleSwitch
from tests.p4src.bench.program import Program


def find_compiler() -> str | None:
    """A C++ compiler, to make the library."""
    return shutil.which("c++")


class ExactSimpleSwitch(SimpleSwitch):
    """Its time is what `advance` says. It goes on after a reset: packets wait in queues for a time that has been."""

    def __init__(self, program: Program, executable: str, clock: mmap.mmap) -> None:
        self._clock = clock
        self.now_us = 0
        super().__init__(program, executable)
        self.exact_time = True

    def advance(self, microseconds: int) -> None:
        self.now_us += microseconds
        self._clock[:] = struct.pack("=q", self.now_us)


@contextmanager
def exact_simple_switch(program: Program, executable: str, compiler: str) -> Iterator[ExactSimpleSwitch]:
    """One process, for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="canopy-clock-") as folder:
        library, told = Path(folder) / "clock.so", Path(folder) / "clock"
        source = Path(__file__).parent / "clock.cpp"
        subprocess.run([compiler, "-std=c++17", "-shared", "-fPIC", "-o", library, source], check=True)
        told.write_bytes(bytes(8))
        with told.open("r+b") as file, mmap.mmap(file.fileno(), 8) as clock:
            with patch.dict(os.environ, LD_PRELOAD=str(library), CANOPY_CLOCK=str(told)):
                switch = ExactSimpleSwitch(program, executable, clock)
            try:
                yield switch
            finally:
                switch.close()
