"""What the packages have in them, as far as that shows without building one: `make package-test` does."""

import json
import re
import subprocess
import sys
from pathlib import Path

from deploy import build
from engine.command.assemble import PARTS

ROOT = Path(__file__).parents[2]
OURS = {"canopy_engine", "engine", "hosts"}
COMMANDS = ("send", "recv", "protocols", "stream", "doctor", "keys")
IMPORTS = """
import importlib, json, sys
there, modules = json.loads(sys.argv[1]), json.loads(sys.argv[2])
class OnlyThese:
    def find_spec(name, path=None, target=None):
        top = name.partition(".")[0]
        if not (top in there or top in sys.stdlib_module_names or top[0] == "_" or top.endswith("__mypyc")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, OnlyThese)
for name in modules:
    importlib.import_module(name)
from typer.testing import CliRunner  # what a terminal's help needs comes late
import rich.markdown, rich.traceback, rich.prompt
from engine.command.assemble import run
for words in (["protocols"], ["recv", "--port", "1"], ["doctor", "--help"], ["stream", "send", "--help"]):
    run(words)
from hosts.programs import daemon_metrics
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} & set(there))))
"""
"""Run where nothing but the package's modules can be imported, whatever else is installed here."""


def test_agents_have_all_that_they_import() -> None:
    """And import nothing of what only `canopy` has."""
    modules = [part.module for part in PARTS if part.commands.keys() & set(COMMANDS)]
    assert len(modules) == len(COMMANDS) - 1
    modules_of = {"markdown-it-py": "markdown_it", "typing-extensions": "typing_extensions"}
    vendored = {modules_of.get(name, name.replace("-", "_")) for name in build.AGENTS_VENDORED}
    there = json.dumps(sorted(vendored | OURS))
    answer = subprocess.run(
        [sys.executable, "-c", IMPORTS, there, json.dumps(modules)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert set(json.loads(answer.stdout.splitlines()[-1])) >= OURS
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").open()}
    assert set(build.AGENTS_VENDORED) <= pinned


def test_what_is_named_is_there() -> None:
    for package in (build.AGENTS, build.EVERYTHING):
        assert [name for name in package.ours if not (ROOT / name).exists()] == []
        assert [name for name in package.units if not (ROOT / "deploy/systemd" / name).exists()] == []
        assert [pattern for pattern in package.data if not list(ROOT.glob(pattern))] == []
    assert "numpy" in build.requirements(build.EVERYTHING)


def test_the_engine_needs_no_newer_libc() -> None:
    import canopy_engine

    folder = Path(str(canopy_engine.__file__)).parent
    symbols = subprocess.run(
        ["objdump", "-T", *map(str, folder.glob("*.so"))], capture_output=True, text=True, check=True
    ).stdout
    newest = max(tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols))
    assert newest <= tuple(map(int, build.LIBC.split(".")))
