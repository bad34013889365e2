"""Compiles the benchmark's own P4 programs where p4c is installed: `python -m experiments.bench.switch.build_programs`,
which `make p4` runs too."""

import sys
from pathlib import Path

from engine.p4c import KeptPrograms

PROGRAMS = KeptPrograms(Path(__file__).resolve().parent / "programs", ("l2", "l3", "tables"))

if __name__ == "__main__":
    sys.exit(PROGRAMS.rebuild())
