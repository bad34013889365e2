import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from engine.command.assemble import build
from experiments.harness.jobs import Job, Metrics
from experiments.harness.runs import RunError
from experiments.survey import kinds, page
from experiments.survey import survey as surveys
from experiments.survey.distribution import Cell
from experiments.survey.survey import Plan, survey
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_outcome import run
from tests.waiting import wait_for

PLAN = Plan(["tfmcc", "webrc"], 3, 1)


class FakeRuns:
    """Notes which jobs were run; those whose names have a word fail; it is interrupted after some."""

    def __init__(self, failing: str = "none of them", most: int = 10**6) -> None:
        self.names: list[str] = []
        self._failing = failing
        self._most = most

    def __call__(self, jobs: Sequence[Job]) -> Generator[tuple[Job, Metrics | RunError], None, None]:
        for job in jobs:
            if len(self.names) == self._most:
                raise KeyboardInterrupt
            self.names.append(job.name)
            yield job, RunError("unlucky") if self._failing in job.name else run(1e6)


def quiet(done: int, total: int) -> None:
    pass


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three: the second is beyond the bound."""

    def cell(seed: int, number: int) -> Cell:
        return dataclasses.replace(small(), seed=seed, number=number, is_beyond=number == 1)

    monkeypatch.setattr(kinds, "draw", cell)


@pytest.mark.usefixtures("cells")
def test_reference_runs_are_shared_and_all_results_are_kept(tmp_path: Path) -> None:
    runs = FakeRuns()
    found = survey(PLAN, tmp_path, runs, quiet)
    assert runs.names == [f"cell {number}, {who}" for number in (0, 2) for who in ("tcp-r2", "tfmcc", "webrc")]
    assert [(one.cell.number, one.protocol, one.state) for one in found.outcomes] == [
        *((0, "tfmcc", "done"), (0, "webrc", "done")),
        *((1, "tfmcc", "left out"), (1, "webrc", "left out")),
        *((2, "tfmcc", "done"), (2, "webrc", "done")),
    ]
    more = FakeRuns()
    again = survey(dataclasses.replace(PLAN, protocols=["rla", "webrc"]), tmp_path, more, quiet)
    assert more.names == ["cell 0, rla", "cell 2, rla"]
    assert again.reused == 4


@pytest.mark.usefixtures("cells")
def test_every_cell_has_its_scenario(tmp_path: Path) -> None:
    survey(PLAN, tmp_path, FakeRuns(), quiet)
    names = [path.name for path in sorted((tmp_path / "cells").iterdir())]
    assert names == [f"000{number}-{protocol}.yaml" for number in range(3) for protocol in PLAN.protocols]
    assert yaml.safe_load((tmp_path / "cells" / "0001-tfmcc.yaml").read_text())["sessions"][0]["protocol"] == "tfmcc"


@pytest.mark.usefixtures("cells")
def test_a_full_survey_runs_cells_beyond_the_bound(tmp_path: Path) -> None:
    found = survey(dataclasses.replace(PLAN, is_full=True), tmp_path, FakeRuns(), quiet)
    assert {one.state for one in found.outcomes} == {"done"}


@pytest.mark.usefixtures("cells")
def test_an_interrupted_survey_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        survey(PLAN, tmp_path, FakeRuns(most=4), quiet)
    rest = FakeRuns()
    assert survey(PLAN, tmp_path, rest, quiet).reused == 4
    assert rest.names == ["cell 2, tfmcc", "cell 2, webrc"]


@pytest.mark.usefixtures("cells")
def test_a_mended_protocol_is_run_again_and_the_references_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey(PLAN, tmp_path, FakeRuns(), quiet)
    monkeypatch.setattr(surveys, "_fingerprint", lambda folder: {"tfmcc": "mended"})
    again = FakeRuns()
    survey(PLAN, tmp_path, again, quiet)
    assert again.names == [f"cell {number}, {who}" for number in (0, 2) for who in ("tfmcc", "webrc")]


@pytest.mark.usefixtures("cells")
def test_failed_runs_are_told(tmp_path: Path) -> None:
    found = survey(PLAN, tmp_path, FakeRuns(failing="0, tfmcc"), quiet)
    assert found.failures == ["cell 0, tfmcc: unlucky"]
    assert [(one.state, one.error) for one in found.outcomes][:2] == [
        ("failed", "cell 0, tfmcc: unlucky"),
        ("done", ""),
    ]
    without = survey(dataclasses.replace(PLAN, seed=2), tmp_path, FakeRuns(failing="2, tcp-r2"), quiet)
    assert [one.state for one in without.outcomes] == ["done", "done", "left out", "left out", "failed", "failed"]


def test_an_unknown_protocol_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown protocol 'smtp'"):
        survey(dataclasses.replace(PLAN, protocols=["smtp"]), tmp_path, FakeRuns(), quiet)


CHEAP_SEED = 49
"""Of the development seeds that whose first cell is of the least work."""


def test_a_killed_survey_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    arguments = ["tfmcc", "vlmcc", "--cells", "1", "--json", "--seed", str(CHEAP_SEED), "--jobs", "1"]
    arguments += ["--out", str(out)]
    command = [sys.executable, "-m", "experiments.survey.command", *arguments]
    scratch = {**os.environ, "TMPDIR": str(tmp_path)}  # whoever is killed cannot clear it away
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, env=scratch) as killed:
        wait_for(lambda: list(out.glob("runs/*.json")), "the first run is kept", 120.0)
        os.killpg(killed.pid, signal.SIGKILL)
    before = {kept: kept.stat().st_mtime_ns for kept in out.glob("runs/*.json")}
    assert before
    assert not (out / "survey.parquet").exists()
    monkeypatch.setattr(page, "write_page", lambda *given: None)  # whose tests are test_page.py's
    done = CliRunner().invoke(build(["survey"]), ["survey", *arguments])
    assert done.exit_code == 0, done.stderr
    after = {kept: kept.stat().st_mtime_ns for kept in out.glob("runs/*.json")}
    assert before.items() < after.items()
    verdicts: dict[str, Any] = json.loads(done.stdout)
    assert [(one["protocol"], one["done"]) for one in verdicts["protocols"]] == [("tfmcc", 1), ("vlmcc", 1)]
    assert (out / "survey.parquet").exists()
