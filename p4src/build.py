"""Compiles the P4 program where p4c is installed, and stamps the artifacts with what they were made from.

`python p4src/build.py` is `make p4`. It writes, beside the sources:

- canopy.json: p4c's BMv2 JSON, with each action once, and canopy.p4info.txtpb, its P4Info
- both packed (.xz), a fortieth and an eighth the size: what is kept, for `make setup` unpacks them
- canopy.constants.json: the numbers and enumerations of include/constants.p4, which P4Info does not carry
- reduced.json.xz: what a switch chip could take of it (docs/hardware.md), whose P4Info is a part of canopy's
- canopy.stamp.json: SHA-256 over the sources, p4c's version, SHA-256 of each artifact

The output depends on the sources and on p4c's version only.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from engine.p4c import compile_programs, pack, rebuild, shared

SOURCE_FOLDER = Path(__file__).resolve().parent
PROGRAM = "canopy"
ARTIFACTS = (f"{PROGRAM}.json", f"{PROGRAM}.p4info.txtpb", f"{PROGRAM}.constants.json")
PACKED = ARTIFACTS[:2]
"""What is kept packed."""
REDUCED = "reduced"
STAMPED = (*ARTIFACTS, f"{REDUCED}.json.xz")
STAMP = f"{PROGRAM}.stamp.json"
CONSTANTS = "include/constants.p4"

# p4c needs some 40 s for this program, and on a busy machine several times that. An innocent-looking expression can
# make it run for hours or for ever.
P4C_TIME_LIMIT_S = 300.0

_NUMBER = re.compile(r"^const\s+\w+(?:<\d+>)?\s+(?P<name>\w+)\s*=\s*(?P<value>0x[0-9a-fA-F]+|\d+)\s*;", re.MULTILINE)
_SIZE = re.compile(r"^#define\s+(?P<name>[A-Z_]+)\s+(?P<value>\d+)\s*$", re.MULTILINE)
_ENUM = re.compile(r"^enum\s+bit<\d+>\s+(?P<name>\w+)_t\s*\{(?P<body>[^}]*)\}", re.MULTILINE)
_MEMBER = re.compile(r"^\s*(?P<name>\w+)\s*=\s*(?P<value>0x[0-9a-fA-F]+|\d+)\s*,?", re.MULTILINE)


def read_constants(path: Path = SOURCE_FOLDER / CONSTANTS) -> dict[str, object]:
    """The `const` and `#define` numbers of a P4 file and its enumerations, by name (enums without their `_t`)."""
    text = re.sub(r"//.*", "", path.read_text())
    numbers = {match["name"]: int(match["value"], 0) for match in (*_SIZE.finditer(text), *_NUMBER.finditer(text))}
    enums = {
        match["name"]: {member["name"]: int(member["value"], 0) for member in _MEMBER.finditer(match["body"])}
        for match in _ENUM.finditer(text)
    }
    return {"numbers": numbers, "enums": enums}


def compile_program(p4c: str, destination: Path, folder: Path = SOURCE_FOLDER) -> None:
    """Writes the three artifacts into `destination`. Raises BuildError."""
    compile_programs(p4c, folder, (PROGRAM,), destination, time_limit_s=P4C_TIME_LIMIT_S)
    path = destination / f"{PROGRAM}.json"
    path.write_text(json.dumps(shared(json.loads(path.read_text())), separators=(",", ":")) + "\n")
    constants = json.dumps(read_constants(folder / CONSTANTS), separators=(",", ":"))
    (destination / f"{PROGRAM}.constants.json").write_text(constants + "\n")


def compile_reduced(p4c: str, destination: Path, folder: Path = SOURCE_FOLDER) -> None:
    """Writes the reduced program's JSON, packed, into `destination`. Raises BuildError."""
    with tempfile.TemporaryDirectory() as made:
        compile_programs(p4c, folder, (REDUCED,), Path(made), time_limit_s=P4C_TIME_LIMIT_S)
        program = shared(_without_sources(json.loads((Path(made) / f"{REDUCED}.json").read_text())))
    (destination / f"{REDUCED}.json.xz").write_bytes(pack(json.dumps(program, separators=(",", ":")).encode()))


def _without_sources(value: Any) -> Any:
    """JSON without `source_info`: nobody traces the reduced program, and it is a quarter of what is kept."""
    if isinstance(value, list):
        return [_without_sources(inner) for inner in value]
    if isinstance(value, dict):
        return {key: _without_sources(inner) for key, inner in value.items() if key != "source_info"}
    return value


def _compile_here(p4c: str) -> None:
    compile_program(p4c, SOURCE_FOLDER)
    for name in PACKED:
        (SOURCE_FOLDER / f"{name}.xz").write_bytes(pack((SOURCE_FOLDER / name).read_bytes()))
    compile_reduced(p4c, SOURCE_FOLDER)


def main() -> int:
    return rebuild(_compile_here, SOURCE_FOLDER / STAMP, STAMPED)


if __name__ == "__main__":
    sys.exit(main())
