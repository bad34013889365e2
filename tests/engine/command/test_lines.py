"""Names that a terminal would obey, or that have several lines."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from engine.command.assemble import run
from engine.command.lines import complain, note, say, visible

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = "a\x1b[2J\nb\u202e\x9b"
SHOWN = r"a\x1b[2J\nb\u202e\x9b"


def test_what_a_terminal_obeys_is_written_as_escapes() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible(os.fsdecode(b"\xff")) == r"\udcff", "a name that is not UTF-8, which no stream would take"
    assert visible("Grüße, 世界 (1).txt") == "Grüße, 世界 (1).txt"


def test_a_line_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    note(HOSTILE)
    complain(HOSTILE)
    complain(OSError(HOSTILE), "canopy ctl")
    assert capsys.readouterr() == (f"{SHOWN}\n", f"{SHOWN}\ncanopy: {SHOWN}\ncanopy ctl: {SHOWN}\n")


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["send", HOSTILE, "--group", "239.1.1.1", "--port", "5000", "--interface", "lo"], 1),
        (["recv", HOSTILE], 1),
        (["recv", f"--{HOSTILE}"], 1),
        (["stream", "send", HOSTILE, "--group", "239.1.1.1", "--port", "5000", "--interface", "lo"], 1),
        (["broadcast", HOSTILE, "--group", "239.1.1.1", "--port", "5000", "--interface", "lo"], 1),
        (["keys", "members", HOSTILE], 1),
        (["simulate", HOSTILE], 1),
        (["simulate", str(ROOT / "topologies" / "quickstart.yaml"), "--file", HOSTILE], 1),
        (["scenario", "check", HOSTILE, HOSTILE], 2),
        (["compare", HOSTILE, HOSTILE], 1),
        (["explain", HOSTILE], 1),
        (["web", HOSTILE], 1),
        (["switch", "run", HOSTILE], 1),
        (["protocols", HOSTILE], 1),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_an_error_has_names_in_one_line(
    arguments: list[str], lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == lines
    assert told.count(r"b\u202e\x9b") >= lines
    assert visible(told.replace("\n", "")) == told.replace("\n", "")


def test_errors_are_said_here_alone() -> None:
    """Who prints one by himself does not escape the names in it."""
    alone = re.compile(r"""(?:echo|print)\(f?"canopy[ a-z]*: """)
    listed = subprocess.run(
        ["git", "ls-files", "engine", "hosts", "controller", "topologies", "experiments"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    sources = [ROOT / name for name in listed.stdout.splitlines() if name.endswith(".py")]
    assert len(sources) > 500
    assert [str(path) for path in sources if alone.search(path.read_text())] == []
