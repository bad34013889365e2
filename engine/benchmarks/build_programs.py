"""Compiles the benchmark's own P4 programs where p4c is installed: `python -m engine.benchmarks.build_programs`,
which `make p4` runs too.

Beside the sources in programs/ it writes each program's BMv2 JSON and P4Info, and a stamp: SHA-256 over the sources,
p4c's version, SHA-256 of each artifact. The output depends on the sources and p4c's version only.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
NAMES = ("l2", "l3", "tables")
ARTIFACTS = tuple(f"{name}.{kind}" for name in NAMES for kind in ("json", "p4info.txtpb"))
STAMP = "stamp.json"

P4C_TIME_LIMIT_S = 60.0


class BuildError(Exception):
    """p4c failed or ran out of time; the message says which."""


def source_hash() -> str:
    """SHA-256 (hex) over the names and contents of all .p4 files, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(PROGRAMS.glob("*.p4")):
        content = path.read_bytes()
        digest.update(f"{path.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_stamp() -> dict[str, object]:
    stamp: dict[str, object] = json.loads((PROGRAMS / STAMP).read_text())
    return stamp


def find_p4c() -> str | None:
    return shutil.which("p4c")


def p4c_version(p4c: str) -> str:
    """For example "1.2.4.1"."""
    output = subprocess.run([p4c, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    match = re.search(r"\d+(?:\.\d+)+", output)
    if match is None:
        raise BuildError(f"{p4c} --version says {output.strip()!r}, which holds no version")
    return match.group()


def compile_programs(p4c: str, destination: Path) -> None:
    """Writes the artifacts into `destination`. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="canopy-bench-") as folder:
        work = Path(folder)
        for source in PROGRAMS.glob("*.p4"):  # a copy, so that no path of the machine enters the output
            shutil.copy(source, work)
        for name in NAMES:
            command = [p4c, "--target", "bmv2", "--arch", "v1model", "-o", "."]
            command += ["--p4runtime-files", f"{name}.p4info.txt", f"{name}.p4"]
            try:
                result = subprocess.run(
                    command, cwd=work, capture_output=True, text=True, timeout=P4C_TIME_LIMIT_S, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise BuildError(f"p4c had not ended after {P4C_TIME_LIMIT_S:.0f} s with {name}.p4") from error
            if result.returncode != 0 or "warning" in result.stderr:
                raise BuildError(f"p4c does not accept {name}.p4:\n{result.stderr.strip()}")
            shutil.copyfile(work / f"{name}.json", destination / f"{name}.json")
            shutil.copyfile(work / f"{name}.p4info.txt", destination / f"{name}.p4info.txtpb")


def write_stamp(version: str) -> None:
    stamp = {
        "sources_sha256": source_hash(),
        "p4c": version,
        "artifacts_sha256": {name: file_hash(PROGRAMS / name) for name in ARTIFACTS},
    }
    (PROGRAMS / STAMP).write_text(json.dumps(stamp, indent=2) + "\n")


def main() -> int:
    p4c = find_p4c()
    if p4c is None:
        print("p4c is not on PATH; the artifacts stay as they are", file=sys.stderr)
        return 2
    try:
        version = p4c_version(p4c)
        compile_programs(p4c, PROGRAMS)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    write_stamp(version)
    print(f"{', '.join(ARTIFACTS)} and {STAMP} written (p4c {version})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
