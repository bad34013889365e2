"""Makes the compiled copy of `hosts/`."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final

from hosts import compiled

ROOT: Final = compiled.SOURCES.parent
COMPILED: Final = ("application.py", "endpoint.py", "parts/", "protocols/", "runtime/", "security/", "wire/")
"""What handles packets, below `hosts/`: modules, and folders of which each module but `__init__` is compiled. Programs
and dissectors are not: Python's -m runs no extension module, and their time goes elsewhere."""

_CFLAGS: Final = "-ffp-contract=off"
"""A product and a sum in one rounding, which some processors have, would give other numbers than Python's two."""


class BuildError(Exception):
    """There is no copy; what mypyc or the compiler said."""


def modules() -> list[str]:
    """The modules that are compiled, as paths below `hosts/`."""
    found = sorted(str(path.relative_to(compiled.SOURCES)) for path in compiled.SOURCES.rglob("*.py"))
    return [path for path in found if path.startswith(COMPILED) and not path.endswith("__init__.py")]


def build(folder: Path, chosen: Collection[str]) -> None:
    """Copy `hosts/` into the new `folder`, compile the modules `chosen` there, and leave the stamp.

    BuildError when there is no mypyc or it fails."""
    if importlib.util.find_spec("mypyc") is None:
        raise BuildError("there is no mypyc: pip install 'canopy[dev]'")
    copy = folder / compiled.SOURCES.name
    shutil.copytree(compiled.SOURCES, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    environment = {
        **os.environ,
        "MYPYPATH": os.pathsep.join((str(folder), str(ROOT), str(ROOT / "engine" / "stubs"))),
        "MYPYC_OPT_LEVEL": "2",
        "MYPYC_DEBUG_LEVEL": "0",
        "CFLAGS": _CFLAGS,
    }
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(folder / "build" / "cache")]
    paths = [f"{compiled.SOURCES.name}/{path}" for path in chosen]
    done = subprocess.run(
        [sys.executable, "-m", "mypyc", *options, *paths],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(done.stdout)
    shutil.rmtree(folder / "build")
    compiled.write_stamp(folder, copy)
