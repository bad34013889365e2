"""Makes `tests.json.xz` anew, where p4testgen is installed: packet tests of the project's own P4 programs.

`python -m tests.engine.whole.generated.make [PROGRAM ...]` runs P4Testgen (p4c's; p4c 1.2.4.1) on each program for at
most a time and as many tests, new statements first. It looks for p4c's headers where p4c has them, or where
P4C_16_INCLUDE_PATH says.
"""

import json
import lzma
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[4]
FILE: Final = Path(__file__).parent / "tests.json.xz"
TOOL: Final = "p4testgen"
PACKET_BITS: Final = "0:2400"
"""A packet's least and greatest length: what our headers need and some payload."""
TIME_LIMIT_S: Final = 3_600.0
PROGRAMS: Final[dict[str, int]] = {
    **{f"topologies/mininet/programs/{name}": 60 for name in ("basic", "ecn", "telemetry")},
    **{f"experiments/bench/switch/programs/{name}": 80 for name in ("l2", "l3", "tables")},
    **{f"engine/crates/p4vm/tests/data/{name}": 60 for name in ("checksums", "commands", "l2", "matching")},
    **{f"tests/engine/whole/differential/data/{name}": 80 for name in ("arithmetic", "memory", "parsing")},
    "tests/engine/data/crossbar": 60,
}
"""Program, without its suffix -> how many tests are asked for. Of canopy.p4's, which a changed P4Testgen made
(docs/conformance.md), and of the longest others, those are kept that pass statements that no other does."""

_COVERED = re.compile(r"Nodes covered: \S+ \((\d+)/(\d+)\)")


@dataclass(frozen=True)
class Generated:
    """The tests of one program, in STF, and how many of its statements they pass through."""

    program: str
    covered: int
    statements: int
    tests: list[str]


def read() -> list[Generated]:
    """What is kept."""
    return [Generated(**item) for item in json.loads(lzma.decompress(FILE.read_bytes()))]


def write(all_generated: list[Generated]) -> None:
    """Keep these."""
    text = json.dumps([asdict(generated) for generated in all_generated], indent=0)
    # Text is made of bytes, not of words of four.
    best = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}
    FILE.write_bytes(lzma.compress(text.encode(), filters=[best]))


def collect(program: str, folder: Path, output: str) -> Generated:
    """What p4testgen wrote to a folder and printed."""
    covered = _COVERED.findall(output)
    tests = [bare(path.read_text()) for path in sorted(folder.glob("*.stf"), key=_number)]
    passed, statements = covered[-1] if covered else (0, 0)
    return Generated(program, int(passed), int(statements), tests)


def bare(test: str) -> str:
    """A test without its comments, which are most of it."""
    return "\n".join(line.strip() for line in test.splitlines() if line.strip() and not line.startswith("#"))


def generate(tool: str, program: str, tests: int) -> Generated:
    """Run p4testgen on a program."""
    source = ROOT / f"{program}.p4"
    with tempfile.TemporaryDirectory() as folder:
        command = [tool, "--target", "bmv2", "--arch", "v1model", "--std", "p4-16"]
        command += ["--test-backend", "STF", "--max-tests", str(tests), "--seed", "1", "--out-dir", folder]
        command += ["--path-selection", "GREEDY_STATEMENT_SEARCH", "--track-coverage", "STATEMENTS"]
        command += ["--packet-size-range", PACKET_BITS, source.name]
        with subprocess.Popen(
            command, cwd=source.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                output, _ = process.communicate(timeout=TIME_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
        return collect(program, Path(folder), output)


def _number(path: Path) -> int:
    return int(path.stem.rsplit("_", 1)[1])


def main(chosen: list[str]) -> int:
    tool = shutil.which(TOOL)
    if tool is None:
        print(f"{TOOL} is not on PATH: it is part of p4c's sources (backends/p4tools)", file=sys.stderr)
        return 1
    kept = {generated.program: generated for generated in read()} if FILE.exists() else {}
    for program, tests in PROGRAMS.items():
        if not chosen or program in chosen:
            kept[program] = generated = generate(tool, program, tests)
            print(f"{program}: {len(generated.tests)} tests, {generated.covered} of {generated.statements} statements")
    write(list(kept.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
