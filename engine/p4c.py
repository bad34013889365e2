"""Runs p4c and stamps what it writes: for the programs that are kept compiled beside their sources.

A machine without p4c uses the artifacts as they are; a test compares them, and the sources, with the stamp.
"""

import hashlib
import json
import lzma
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NODES: Final = ("tables", "conditionals", "action_calls")
"""Kinds of them in a pipeline (engine/crates/p4vm/src/load/sources.rs)."""

_SMALL_LIMIT_S: Final = 60.0


class BuildError(Exception):
    """p4c failed or ran out of time; the message says which."""


def source_hash(folder: Path) -> str:
    """SHA-256 (hex) over the paths and contents of all .p4 files below a folder, in the order of their paths."""
    digest = hashlib.sha256()
    for path in _sources(folder):
        content = (folder / path).read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(folder: Path) -> list[str]:
    """All .p4 files below a folder, as paths from there."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.p4"))


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_p4c() -> str | None:
    return shutil.which("p4c")


def p4c_version(p4c: str) -> str:
    """For example "1.2.4.1"."""
    output = subprocess.run([p4c, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    match = re.search(r"\d+(?:\.\d+)+", output)
    if match is None:
        raise BuildError(f"{p4c} --version says {output.strip()!r}, which holds no version")
    return match.group()


def compile_programs(p4c: str, folder: Path, names: Sequence[str], destination: Path, *, time_limit_s: float) -> None:
    """Writes BMv2 JSON (NAME.json) and P4Info (NAME.p4info.txtpb) of each NAME.p4 of a folder. Raises BuildError.

    p4c runs in a copy of the sources, so that no path of the machine enters its output. Its JSON is kept without white
    space, which is two thirds of it, and without what it says of the sources and no trace shows.
    """
    with tempfile.TemporaryDirectory(prefix="canopy-p4-") as temporary:
        work = Path(temporary)
        for source in _sources(folder):
            (work / source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(folder / source, work / source)
        for name in names:
            # Named .txt, from which this version knows the format; it does not know .txtpb.
            command = [p4c, "--target", "bmv2", "--arch", "v1model", "-o", "."]
            command += ["--p4runtime-files", f"{name}.p4info.txt", f"{name}.p4"]
            try:
                result = subprocess.run(
                    command, cwd=work, capture_output=True, text=True, timeout=time_limit_s, check=False
                )
            except subprocess.TimeoutExpired as error:
                raise BuildError(f"p4c had not ended after {time_limit_s:g} s with {name}.p4") from error
            if result.returncode != 0 or "warning" in result.stderr:
                raise BuildError(f"p4c does not accept {name}.p4:\n{result.stderr.strip()}")
            program = lean(json.loads((work / f"{name}.json").read_text()))
            (destination / f"{name}.json").write_text(json.dumps(program, separators=(",", ":")) + "\n")
            shutil.copyfile(work / f"{name}.p4info.txt", destination / f"{name}.p4info.txtpb")


def pack(content: bytes) -> bytes:
    """What is kept of p4c's output, a fifth of its size or less; `make setup` unpacks it."""
    text = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}
    return lzma.compress(content, filters=[text])


def lean(program: Any) -> Any:
    """p4c's JSON with `source_info`, without columns, only where traces show it: at pipelines' nodes and primitives."""
    shown = [node for line in program.get("pipelines", []) for kind in _NODES for node in line.get(kind, [])]
    shown += [primitive for action in program.get("actions", []) for primitive in action.get("primitives", [])]
    places = {id(entry): entry.get("source_info") for entry in shown}

    def without(value: Any) -> Any:
        if isinstance(value, list):
            return [without(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        kept = {key: without(inner) for key, inner in value.items() if key != "source_info"}
        if (place := places.get(id(value))) is not None:
            kept["source_info"] = {key: told for key, told in place.items() if key != "column"}
        return kept

    return without(program)


def shared(program: Any) -> Any:
    """The program with each action once: p4c copies an action for every place that calls it, with all that is in it.
    What it makes of statements has names that nobody outside knows; there the content alone counts."""
    tables = [table for line in program["pipelines"] for table in line["tables"]]
    hidden = {number for table in tables if _is_hidden(table) for number in table["action_ids"]}
    hidden -= {number for table in tables if not _is_hidden(table) for number in table["action_ids"]}
    first: dict[str, Any] = {}
    instead: dict[int, Any] = {}
    for action in program["actions"]:
        known = ("id", "name") if action["id"] in hidden else ("id",)
        content = {key: value for key, value in action.items() if key not in known}
        instead[action["id"]] = first.setdefault(json.dumps(content, sort_keys=True), action)

    def renumbered(value: Any) -> Any:
        if isinstance(value, list):
            return [renumbered(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        kept = {key: renumbered(inner) for key, inner in value.items()}
        if "action_id" in kept:
            kept["action_id"] = instead[kept["action_id"]]["id"]
        if "action_ids" in kept:
            now = [instead[number] for number in kept["action_ids"]]
            names = dict(zip(kept["actions"], (action["name"] for action in now), strict=True))
            kept["action_ids"] = [action["id"] for action in now]
            kept["actions"] = [action["name"] for action in now]
            kept["next_tables"] = {names.get(name, name): then for name, then in kept["next_tables"].items()}
        return kept

    return {**program, "actions": list(first.values()), "pipelines": renumbered(program["pipelines"])}


def _is_hidden(table: Any) -> bool:
    """Whether p4c has made it of an action, or of statements, that the program calls outright."""
    return bool(table["name"].startswith("tbl_") and not table["key"] and len(table["action_ids"]) == 1)


def rebuild(write: Callable[[str], None], stamp: Path, artifacts: Sequence[str]) -> int:
    """Have `write` make artifacts with p4c, whose path it is given, and stamp them, where p4c is installed; the exit
    status of a program that does no more than that."""
    p4c = find_p4c()
    if p4c is None:
        print("p4c is not on PATH; the artifacts stay as they are (README.md says where to get it)", file=sys.stderr)
        return 2
    try:
        version = p4c_version(p4c)
        write(p4c)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    write_stamp(stamp, version, artifacts)
    print(f"{', '.join(artifacts)} and {stamp.name} written (p4c {version})")
    return 0


@dataclass(frozen=True, slots=True)
class KeptPrograms:
    """Small programs that are kept compiled beside their sources: each one's BMv2 JSON and P4Info, packed, and a stamp.
    The output depends on the sources and p4c's version only."""

    folder: Path
    names: tuple[str, ...]

    @property
    def artifacts(self) -> tuple[str, ...]:
        """The files' names."""
        return tuple(f"{name}.{kind}" for name in self.names for kind in ("json", "p4info.txtpb"))

    @property
    def stamp(self) -> Path:
        """SHA-256 over the sources, p4c's version, SHA-256 of each artifact."""
        return self.folder / "stamp.json"

    def compile_into(self, p4c: str, destination: Path) -> None:
        """Raises BuildError."""
        compile_programs(p4c, self.folder, self.names, destination, time_limit_s=_SMALL_LIMIT_S)

    def rebuild(self) -> int:
        """As `rebuild`."""
        return rebuild(self._compile_here, self.stamp, self.artifacts)

    def _compile_here(self, p4c: str) -> None:
        self.compile_into(p4c, self.folder)
        for name in self.artifacts:
            (self.folder / f"{name}.xz").write_bytes(pack((self.folder / name).read_bytes()))


def write_stamp(path: Path, version: str, artifacts: Sequence[str]) -> None:
    """Says what the artifacts beside it were made from, and by which p4c."""
    folder = path.parent
    stamp = {
        "sources_sha256": source_hash(folder),
        "p4c": version,
        "artifacts_sha256": {name: file_hash(folder / name) for name in artifacts},
    }
    path.write_text(json.dumps(stamp, indent=2) + "\n")
