"""The programs that both switches run: small ones of our own, each about a part of v1model, and a folder's."""

import functools
import json
import lzma
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finsy.proto import p4i
from google.protobuf import text_format

from engine.switch.stf.suite import find_compiler, standard_of

DATA = Path(__file__).parent / "data"
ENGINE_DATA = DATA.parents[2] / "data"

COMPILE_TIMEOUT_S = 120


@dataclass(frozen=True)
class Program:
    """A compiled program. `json` is the text that p4c wrote."""

    name: str
    json: str
    p4info: p4i.P4Info

    @functools.cached_property
    def parsed(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.json)
        return found

    def __repr__(self) -> str:
        return self.name


def read(folder: Path, name: str) -> Program:
    """A program that is kept."""
    p4info = text_format.Parse(_kept(folder / f"{name}.p4info.txtpb"), p4i.P4Info())
    return Program(name, read_json(folder / name), p4info)


def read_json(program: Path) -> str:
    """What p4c wrote of a program that is kept, its path given without a suffix."""
    return _kept(program.with_name(f"{program.name}.json"))


def _kept(artifact: Path) -> str:
    return lzma.decompress(artifact.with_name(f"{artifact.name}.xz").read_bytes()).decode()


def own_programs() -> list[Program]:
    """The product's own program is not one of them: without its controller it drops everything (see tests/p4src)."""
    names = sorted(source.stem for source in DATA.glob("*.p4"))
    return [*(read(DATA, name) for name in names), read(ENGINE_DATA, "entities")]


def compiled(source: Path, folder: Path) -> Program | None:
    """What p4c makes of a program for v1model in `folder`, None when it is for another architecture or refused.

    Raises StfError when p4c is missing."""
    standard = standard_of(source.read_text(encoding="utf-8", errors="replace"))
    if standard is None:
        return None
    output, p4info = folder / f"{source.stem}.json", folder / f"{source.stem}.p4info.txt"
    command = [find_compiler(), "--std", standard, "--p4runtime-files", str(p4info), "-o", str(output), str(source)]
    done = subprocess.run(command, capture_output=True, timeout=COMPILE_TIMEOUT_S, check=False)
    if done.returncode or not output.exists():
        return None
    return Program(source.stem, output.read_text(), text_format.Parse(p4info.read_text(), p4i.P4Info()))
