"""Compiles the three programs where p4c is installed: `python -m topologies.mininet.programs.build`, which `make p4`
runs too."""

import sys
from pathlib import Path

from engine.p4c import KeptPrograms

PROGRAMS = KeptPrograms(Path(__file__).resolve().parent, ("basic", "ecn", "telemetry"))

if __name__ == "__main__":
    sys.exit(PROGRAMS.rebuild())
