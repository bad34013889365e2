"""Compiles the P4 program where p4c is installed, and stamps the artifacts with what they were made from.

`python p4src/build.py` is `make p4`. It writes, beside the sources:

- canopy.json: p4c's BMv2 JSON; canopy.p4info.txtpb: its P4Info
- canopy.constants.json: the numbers and enumerations of constants.p4, which P4Info does not carry
- canopy.stamp.json: SHA-256 over the sources, p4c's version, SHA-256 of each artifact

The output depends on the sources and on p4c's version only: p4c runs in a copy of the sources, so that no path of the
machine enters it.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE_FOLDER = Path(__file__).resolve().parent
PROGRAM = "canopy"
ARTIFACTS = (f"{PROGRAM}.json", f"{PROGRAM}.p4info.txtpb", f"{PROGRAM}.constants.json")
STAMP = f"{PROGRAM}.stamp.json"

# p4c needs some 16 s for this program, and on a busy machine several times that. An innocent-looking expression can
# make it run for hours or for ever.
P4C_TIME_LIMIT_S = 300.0

_NUMBER = re.compile(r"^const\s+\w+(?:<\d+>)?\s+(?P<name>\w+)\s*=\s*(?P<value>0x[0-9a-fA-F]+|\d+)\s*;", re.MULTILINE)
_SIZE = re.compile(r"^#define\s+(?P<name>[A-Z_]+)\s+(?P<value>\d+)\s*$", re.MULTILINE)
_ENUM = re.compile(r"^enum\s+bit<\d+>\s+(?P<name>\w+)_t\s*\{(?P<body>[^}]*)\}", re.MULTILINE)
_MEMBER = re.compile(r"^\s*(?P<name>\w+)\s*=\s*(?P<value>0x[0-9a-fA-F]+|\d+)\s*,?", re.MULTILINE)


class BuildError(Exception):
    """p4c is missing, failed, or ran out of time; the message says which."""


def source_hash(folder: Path = SOURCE_FOLDER) -> str:
    """SHA-256 (hex) over the names and contents of all .p4 files, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.p4"), key=lambda source: source.name):
        content = path.read_bytes()
        digest.update(f"{path.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_stamp(folder: Path = SOURCE_FOLDER) -> dict[str, object]:
    stamp: dict[str, object] = json.loads((folder / STAMP).read_text())
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


def read_constants(folder: Path = SOURCE_FOLDER) -> dict[str, object]:
    """The `const` and `#define` numbers of constants.p4 and its enumerations, by name (enums without their `_t`)."""
    text = re.sub(r"//.*", "", (folder / "constants.p4").read_text())
    numbers = {match["name"]: int(match["value"], 0) for match in (*_SIZE.finditer(text), *_NUMBER.finditer(text))}
    enums = {
        match["name"]: {member["name"]: int(member["value"], 0) for member in _MEMBER.finditer(match["body"])}
        for match in _ENUM.finditer(text)
    }
    return {"numbers": numbers, "enums": enums}


def compile_program(p4c: str, destination: Path, folder: Path = SOURCE_FOLDER) -> None:
    """Writes the three artifacts into `destination`. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="canopy-p4-") as name:
        work = Path(name)
        for source in folder.glob("*.p4"):
            shutil.copy(source, work)
        # Named .txt, from which this version knows the format; it does not know .txtpb.
        command = [p4c, "--target", "bmv2", "--arch", "v1model", "-o", "."]
        command += ["--p4runtime-files", f"{PROGRAM}.p4info.txt", f"{PROGRAM}.p4"]
        try:
            result = subprocess.run(
                command, cwd=work, capture_output=True, text=True, timeout=P4C_TIME_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"p4c had not ended after {P4C_TIME_LIMIT_S:.0f} s") from error
        if result.returncode != 0 or "warning" in result.stderr:
            raise BuildError(f"p4c does not accept the program:\n{result.stderr.strip()}")
        shutil.copyfile(work / f"{PROGRAM}.json", destination / f"{PROGRAM}.json")
        shutil.copyfile(work / f"{PROGRAM}.p4info.txt", destination / f"{PROGRAM}.p4info.txtpb")
    constants = json.dumps(read_constants(folder), indent=2)
    (destination / f"{PROGRAM}.constants.json").write_text(constants + "\n")


def write_stamp(version: str, folder: Path = SOURCE_FOLDER) -> None:
    stamp = {
        "sources_sha256": source_hash(folder),
        "p4c": version,
        "artifacts_sha256": {name: file_hash(folder / name) for name in ARTIFACTS},
    }
    (folder / STAMP).write_text(json.dumps(stamp, indent=2) + "\n")


def main() -> int:
    p4c = find_p4c()
    if p4c is None:
        print("p4c is not on PATH; the artifacts in p4src/ stay as they are (README.md says where to get it)")
        return 2
    try:
        version = p4c_version(p4c)
        compile_program(p4c, SOURCE_FOLDER)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    write_stamp(version)
    print(f"p4src/{PROGRAM}.json, P4Info, constants and stamp written (p4c {version})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
