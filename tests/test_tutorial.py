"""docs/tutorial/, to the letter: each command that a page shows is run, page by page and in its order."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from engine.command import assemble
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs" / "tutorial").glob("[1-9]-*.md"))
COMMAND = re.compile(r"    ((?:sudo \.venv/bin/)?(?:canopy|python) .*|cp .*|p4c .*|make .*)")
EMULATED = "2-joins"
EXAMPLE = "python -m topologies.mininet.example "
"""Runs in tests/topologies/mininet/whole/."""


def commands(page: Path) -> list[str]:
    """A line that ends with a backslash goes on in the next one."""
    text = re.sub(r" \\\n +", " ", page.read_text("utf-8"))
    return [match[1] for line in text.splitlines() if (match := COMMAND.fullmatch(line))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that looks like Canopy's, in which runs/ may be filled."""
    made = tmp_path_factory.mktemp("tutorial")
    (made / "topologies").symlink_to(ROOT / "topologies")
    (made / "runs").mkdir()
    with contextlib.chdir(made):
        yield made


def test_every_page_has_commands() -> None:
    assert len(PAGES) == 6
    assert all(commands(page) for page in PAGES)


FIGURES = (
    ("1-tree", r"at about ([\d.]+) Mbps", "first", ("r1", "r2", "r3", "r4")),
    ("3-rate", r"now get ([\d.]+) Mbps", "slow", ("r1", "r2", "r3", "r4")),
    ("3-rate", r"r3 get about ([\d.]+) Mbps each", "layers", ("r1", "r2", "r3")),
    ("3-rate", r"and r4 ([\d.]+):", "layers", ("r4",)),
    ("4-feedback", r"some ([\d,]+) feedback packets reach", "plain", ()),
    ("4-feedback", r"and some (\d+) with it", "merged", ()),
)
"""What a page says came out of a run: goodputs of receivers, or without any the sender's feedback packets."""


def check_figure(folder: Path, page: str, pattern: str, run: str, hosts: tuple[str, ...]) -> None:
    said = re.search(pattern, (ROOT / "docs/tutorial" / f"{page}.md").read_text("utf-8").replace("\n", " "))
    assert said is not None, (page, pattern)
    session = json.loads((folder / "runs" / run / "summary.json").read_text())["sessions"][0]
    found = [one["goodput_bps"] / 1e6 for one in session["receivers"] if one["host"] in hosts]
    for value in found or [session["feedback_packets"]]:
        assert float(said[1].replace(",", "")) == pytest.approx(value, rel=0.1), (page, pattern)


def test_commands_that_need_no_root(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All pages, one after the other, for later ones use the runs of earlier ones."""
    for page in PAGES:
        if page.stem == EMULATED:
            continue
        shown = ""
        for command in commands(page):
            words = command.split()
            if words[0] == "canopy":
                status = assemble.run(words[1:])
                told = capsys.readouterr()
                shown += told.out
                assert status == 0, f"{page.name}: {command}\n{told.out}\n{told.err}"
            elif words[0] == "sudo":
                name = command.partition(EXAMPLE)[2]
                assert name in ("basic", "ecn", "telemetry"), command
            elif words[0] == "cp" or shutil.which(words[0]):
                subprocess.run(words, check=True, cwd=folder)
        for packets in re.findall(r"`(mtcp \w+)`", page.read_text("utf-8")):
            assert f"  {packets} " in shown, f"{page.name}: no {packets}"
    for figure in FIGURES:
        check_figure(folder, *figure)


@pytest.mark.emulation
def test_the_emulated_page(folder: Path, tmp_path: Path) -> None:
    page = next(page for page in PAGES if page.stem == EMULATED)
    programs = Path(sys.executable).parent
    (hold, *others) = [command.replace("sudo .venv/bin/", f"{programs}/") for command in commands(page)]
    environment = {**os.environ, "CANOPY_STATE_ROOT": str(tmp_path / "state"), "COLUMNS": "120"}
    log = tmp_path / "log"

    def start(command: str) -> subprocess.Popen[str]:
        words = command.replace("timeout 15", "timeout 120").rstrip("& ").split()  # a busy machine needs longer
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment)

    def shows(command: str, what: str) -> bool:
        run = start(command)
        told, _ = run.communicate(timeout=60)
        assert run.returncode == 0, f"{command}: {told}"
        return what in told

    with log.open("wb") as output:
        network = subprocess.Popen(
            hold.split(), stdout=output, stderr=output, cwd=folder, env=environment, start_new_session=True
        )
    listener = None
    try:
        wait_for(lambda: "stays up" in log.read_text() or network.poll() is not None, "the network is up")
        for command in others:
            if command.endswith("&"):
                listener = start(command)
            elif command.endswith("ctl members"):
                wait_for(partial(shows, command, "r3"), "r3 is a member")
            else:
                shows(command, "")
        assert listener is not None
        listener.terminate()
        assert "Mbits/sec" in listener.communicate(timeout=60)[0]
    finally:
        network.send_signal(signal.SIGINT)
        network.wait(60)
        if listener is not None:
            listener.kill()
    assert "4 of 4 receivers hold the whole file" in log.read_text()
