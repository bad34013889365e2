"""README and docs/: the files that they name are there, the command lines that they show are ones that `canopy` takes,
and their lines are short enough to read."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
import typer
import yaml

from engine.command.assemble import build

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "p4src/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "experiments/results/NOTES.md",
]
COLUMNS = 120

FOLDERS = ("controller", "deploy", "docs", "engine", "experiments", "hosts", "p4src", "scripts", "tests", "topologies")
MADE = ("runs/", "site/", ".venv/", "engine/target", "scenario.yaml")
"""Not in the repository: what runs and set-up make."""
PLACEHOLDERS = re.compile(r"\b(ROW|PAPER|NAME|FILE)\b|<.*>|\.\.\.")
"""`experiments/results/ROW.json`: no file of that name."""
SOURCE = re.compile(r"[\w-]+\.(py|rs|p4|yaml|sh|lua|md|svg|toml)")

pytestmark = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@cache
def files() -> frozenset[str]:
    """Of the repository, as paths from its root."""
    found = {path.name for path in ROOT.iterdir() if path.is_file()}
    for folder in FOLDERS:
        for parent, below, inside in os.walk(ROOT / folder):
            below[:] = [name for name in below if name not in ("target", "__pycache__")]
            found |= {str((Path(parent) / name).relative_to(ROOT)) for name in inside}
    return frozenset(found)


@cache
def folders() -> frozenset[str]:
    return frozenset(str(parent) for path in files() for parent in Path(path).parents)


@cache
def names() -> frozenset[str]:
    return frozenset(Path(path).name for path in files())


def is_there(path: str) -> bool:
    return path.rstrip("/") in files() | folders()


def code(text: str) -> Iterator[str]:
    """What stands between backticks; in a table's cell `|` is written with a backslash."""
    yield from (word.replace(r"\|", "|") for word in re.findall(r"`([^`\n]+)`", text))


def prose(text: str) -> Iterator[str]:
    """Lines that an author breaks: all but those of tables."""
    yield from (line for line in text.splitlines() if not line.startswith("|"))


def test_paths_are_there(page: Path) -> None:
    missing = []
    for word in code(page.read_text("utf-8")):
        path, _, _ = word.partition(":")
        if " " in path or PLACEHOLDERS.search(path) or path.startswith(MADE):
            continue
        if path.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            if "*" in path:
                if not any(ROOT.glob(path)):
                    missing.append(path)
            elif not is_there(path):
                missing.append(path)
        elif SOURCE.fullmatch(path) and path not in names():
            missing.append(path)
    assert not missing


def test_links_lead_somewhere(page: Path) -> None:
    dangling = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dangling.append(target)
    assert not dangling


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_lines_are_short_enough(page: Path) -> None:
    long = [line for line in prose(page.read_text("utf-8")) if len(line) > COLUMNS]
    assert not long


def test_python_can_be_read(page: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        compile(block, page.name, "exec")


def test_yaml_can_be_read(page: Path) -> None:
    for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        yaml.safe_load(block)


def test_commands_are_known(page: Path) -> None:
    unknown = [f"{line}: {problem}" for line in command_lines(page.read_text("utf-8")) if (problem := complaint(line))]
    assert not unknown


def command_lines(text: str) -> Iterator[str]:
    """Calls of `canopy` between backticks, and one on each indented line."""
    yield from (word.partition("canopy ")[2] for word in code(text) if CALL.match(word))
    for line in text.splitlines():
        if line.startswith("    "):
            for part in re.split(r"[|;&] ", line):
                if CALL.match(part.strip()):
                    yield part.strip().partition("canopy ")[2]


CALL = re.compile(r"(sudo )?(\.venv/bin/)?canopy ")


@cache
def top(command: str) -> object:
    return typer.main.get_command(build([command]))


def complaint(line: str) -> str:
    """What is wrong with the arguments of `canopy`; empty when nothing is. `a|b` stands for one of several."""
    words = re.split(r" {2,}|  *# ", line)[0].split()
    return "; ".join(filter(None, (_walk(top(next(iter(choice), "")), choice) for choice in _choices(words))))


def _choices(words: Sequence[str]) -> Iterator[list[str]]:
    for number, word in enumerate(words):
        if re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", word):
            for one in word.split("|"):
                yield from _choices([*words[:number], one, *words[number + 1 :]])
            return
    yield list(words)


def _walk(command: object, words: Sequence[str]) -> str:
    rest = list(words)
    while rest and (commands := getattr(command, "commands", None)):
        if rest[0] == "...":
            break
        if rest[0].startswith("-"):  # `canopy switch -i 1@veth1` is `canopy switch run -i 1@veth1`
            command = commands.get("run", command)
            break
        if rest[0] not in commands:
            return f"no command {rest[0]}"
        command = commands[rest.pop(0)]
    known = {"--help", "--"}.union(*((*one.opts, *one.secondary_opts) for one in getattr(command, "params", ())))
    for word in rest:
        if word == "--":
            break
        if word.startswith("-") and not re.fullmatch(r"-[\d.]*", word) and word.partition("=")[0] not in known:
            return f"no option {word}"
    return ""
