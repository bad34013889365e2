"""Compiles the benchmark's own P4 programs where p4c is installed: `python -m experiments.bench.switch.build_programs`,
which `make p4` runs too.

Beside the sources in programs/ it writes each program's BMv2 JSON and P4Info, and a stamp: SHA-256 over the sources,
p4c's version, SHA-256 of each artifact. The output depends on the sources and p4c's version only.
"""

import sys
from pathlib import Path

from engine.p4c import compile_programs, rebuild

PROGRAMS = Path(__file__).resolve().parent / "programs"
NAMES = ("l2", "l3", "tables")
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
