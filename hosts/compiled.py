"""Whether a compiled copy of this package stands in for its sources: only one that was made of exactly these.

The copy (`make fast`) is a package `hosts` in a folder of its own, with extension modules beside the modules that they
were made of, and a stamp that says which Python it is for and what each source file's content was. A process compares
the stamp with the sources when it imports `hosts`, before any of its modules; with the least difference it interprets
the sources.
"""

import hashlib
import json
import os
import sys
from collections.abc import MutableSequence
from enum import Enum
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

VARIABLE: Final = "CANOPY_FAST"
"""Environment: `0` for the sources in any case; a folder in place of `COPY`."""
SOURCES: Final = Path(__file__).resolve().parent
COPY: Final = SOURCES.parent / ".venv" / "fast"
"""Where `make fast` leaves the copy."""
STAMP: Final = "stamp.json"
"""In the copy's folder."""


class Standing(Enum):
    """What is known of the copy."""

    OFF = "CANOPY_FAST=0"
    NONE = "no compiled copy"
    FITS = "compiled"
    CHANGED = "hosts/ has changed since `make fast`"
    OTHER_PYTHON = "the compiled copy of hosts/ is another Python's"
    DAMAGED = "the stamp of the compiled copy of hosts/ is damaged"

    @property
    def complaint(self) -> str | None:
        """One line for whoever counts on the copy; None when there is no reason for one."""
        if self in (Standing.CHANGED, Standing.OTHER_PYTHON, Standing.DAMAGED):
            return f"{self.value}; running the sources"
        return None


standing = Standing.NONE
"""This process's copy."""


def python() -> str:
    """The Python that runs: version, build, and the name that its extension modules have."""
    return f"{sys.version} {EXTENSION_SUFFIXES[0]}"


def fingerprint(folder: Path) -> dict[str, str]:
    """Path below `folder` -> hash, of each file of a package: its sources and data, not what Python or a compiler made
    of them. Hidden files (editors') do not count. OSError when one cannot be read."""
    found: dict[str, str] = {}
    pending = [("", str(folder))]
    while pending:
        prefix, path = pending.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith(".") or name == "__pycache__" or name.endswith((".pyc", ".so")):
                    continue
                if entry.is_dir():
                    pending.append((f"{prefix}{name}/", entry.path))
                else:
                    with open(entry.path, "rb") as file:
                        found[prefix + name] = hashlib.sha256(file.read()).hexdigest()
    return found


def write_stamp(copy: Path, sources: Path) -> None:
    """Say that `copy` was made of what is in `sources`, by this Python. OSError when it cannot."""
    content = {"python": python(), "sources": fingerprint(sources)}
    (copy / STAMP).write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")


def judge(copy: Path, sources: Path) -> Standing:
    """Whether `copy` may stand in for `sources`."""
    try:
        content = json.loads((copy / STAMP).read_bytes())
    except FileNotFoundError:
        return Standing.NONE
    except (OSError, ValueError):
        return Standing.DAMAGED
    if not isinstance(content, dict) or not content.keys() >= {"python", "sources"}:
        return Standing.DAMAGED
    if content["python"] != python():
        return Standing.OTHER_PYTHON
    try:
        return Standing.FITS if content["sources"] == fingerprint(sources) else Standing.CHANGED
    except OSError:
        return Standing.CHANGED


def place() -> Path | None:
    """Where this process looks for a copy; None: nowhere."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "0":
        return None
    return Path(wanted).resolve() if wanted else COPY


def take_over(search: MutableSequence[str]) -> None:
    """Let the modules of the package that looks for them in `search` come from the copy, if it fits."""
    global standing
    copy = place()
    standing = Standing.OFF if copy is None else judge(copy, SOURCES)
    if copy is not None and standing is Standing.FITS:
        search[:] = [str(copy / SOURCES.name)]
        sys.path.append(str(copy))  # the library that all extension modules share is there
