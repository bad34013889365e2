"""docs/tutorial/, to the letter: each command that a page shows is run, page by page and in its order."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.command import assemble
from tests.topologies.emulation.whole.harness import wait_for

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


def test_commands_that_need_no_root(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All pages, one after the other, for later ones use the runs of earlier ones."""
    for page in PAGES:
        if page.stem == EMULATED:
            continue
        for command in commands(page):
            words = command.split()
            if words[0] == "canopy":
                status = assemble.run(words[1:])
                told = capsys.readouterr()
                assert status == 0, f"{page.name}: {command}\n{told.out}\n{told.err}"
            elif words[0] == "sudo":
                name = command.partition(EXAMPLE)[2]
                assert name in ("basic", "ecn", "telemetry"), command
            elif words[0] == "cp" or shutil.which(words[0]):
                subprocess.run(words, check=True, cwd=folder)


@pytest.mark.emulation
def test_the_emulated_page(folder: Path, tmp_path: Path) -> None:
    page = next(page for page in PAGES if page.stem == EMULATED)
    programs = Path(sys.executable).parent
    (hold, *others) = [command.replace("sudo .venv/bin/", f"{programs}/") for command in commands(page)]
    environment = {**os.environ, "CANOPY_STATE_ROOT": str(tmp_path / "state"), "COLUMNS": "120"}
    log = tmp_path / "log"

    def asked(*words: str) -> str:
        command = [str(programs / "canopy"), *words]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False).stdout

    with log.open("wb") as output:
        network = subprocess.Popen(
            hold.split(), stdout=output, stderr=output, cwd=folder, env=environment, start_new_session=True
        )
    started = []
    told = {}
    try:
        wait_for(lambda: "stays up" in log.read_text() or network.poll() is not None, "the network is up")
        for command in others:
            in_background = command.endswith("&")
            run = subprocess.Popen(
                command.rstrip("& ").split(), stdout=subprocess.PIPE, text=True, cwd=folder, env=environment
            )
            if in_background:
                started.append(run)
                wait_for(lambda: "r3" in asked("ctl", "members", "--json"), "r3 is a member")
            else:
                told[command], _ = run.communicate(timeout=60)
                assert run.returncode == 0, f"{command}: {told[command]}"
        heard, _ = started[0].communicate(timeout=60)
        assert "Mbits/sec" in heard
    finally:
        network.send_signal(signal.SIGINT)
        network.wait(60)
        for run in started:
            run.kill()
    assert "4 of 4 receivers hold the whole file" in log.read_text()
