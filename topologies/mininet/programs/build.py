"""Compiles the three programs where p4c is installed: `python -m topologies.mininet.programs.build`, which `make p4`
runs too. Beside the sources it writes each program's BMv2 JSON and P4Info, and a stamp (engine/p4c.py)."""

import sys
from pathlib import Path

from engine.p4c import compile_programs, rebuild

PROGRAMS = Path(__file__).resolve().parent
NAMES = ("basic", "ecn", "telemetry")
ARTIFACTS = tuple(f"{name}.{kind}" for name in NAMES for kind in ("json", "p4info.txtpb"))
STAMP = "stamp.json"

P4C_TIME_LIMIT_S = 60.0


def compile_into(p4c: str, destination: Path) -> None:
    """Raises BuildError."""
    compile_programs(p4c, PROGRAMS, NAMES, destination, time_limit_s=P4C_TIME_LIMIT_S)


def main() -> int:
    return rebuild(lambda p4c: compile_into(p4c, PROGRAMS), PROGRAMS / STAMP, ARTIFACTS)


if __name__ == "__main__":
    sys.exit(main())
