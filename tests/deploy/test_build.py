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
for name in sys.argv[1:]:
    importlib.import_module(name)
from typer.testing import CliRunner  # what a terminal's help needs comes late
import rich.markdown, rich.traceback, rich.prompt
from engine.command.assemble import run
for words in (["protocols"], ["recv", "--port", "1"], ["doctor", "--help"], ["stream", "send", "--help"]):
    run(words)
from hosts.programs import daemon_metrics
found = {name.partition(".")[0] for name, module in sys.modules.items() if getattr(module, "__file__", None)}
print(json.dumps(sorted(found - set(sys.stdlib_module_names))))
"""


def test_agents_have_all_that_they_import() -> None:
    """And import nothing of what only `canopy` has."""
    modules = [part.module for part in PARTS if part.commands[0] in COMMANDS]
    assert len(modules) == len(COMMANDS) - 1
    answer = subprocess.run(
        [sys.executable, "-c", IMPORTS, *modules], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(json.loads(answer.stdout.splitlines()[-1])) - {"sitecustomize"}
    imported = {name for name in imported if not re.match("_|__editable__", name)}
    modules_of = {"markdown-it-py": "markdown_it", "typing-extensions": "typing_extensions"}
    vendored = {modules_of.get(name, name.replace("-", "_")) for name in build.AGENTS_VENDORED}
    assert imported <= vendored | OURS
    assert imported >= OURS
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
