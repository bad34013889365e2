import json
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.command.assemble import build
from engine.command.signals import Interrupted
from experiments.survey import page
from experiments.survey import survey as surveys
from experiments.survey.survey import Plan, Surveyed
from hosts import protocols
from tests.experiments.survey.test_page import outcome

RUNNER = CliRunner()
APP = build(["survey"])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """What surveys were asked for; each is of one cell."""
    plans: list[Plan] = []

    def survey(plan: Plan, folder: Path, *rest: object) -> Surveyed:
        plans.append(plan)
        folder.mkdir(parents=True, exist_ok=True)
        return Surveyed(plan, [outcome(0, 5e5)])

    monkeypatch.setattr(surveys, "survey", survey)
    return plans


def test_json_is_the_verdicts_and_nothing_else(asked: list[Plan], tmp_path: Path) -> None:
    result = RUNNER.invoke(APP, ["survey", "tfmcc", "--cells", "1", "--out", str(tmp_path / "out"), "--json"])
    assert result.exit_code == 0, result.stderr
    verdicts = json.loads(result.stdout)
    assert (verdicts["seed"], verdicts["kind"], verdicts["cells"]) == (1, "development", 1)
    assert verdicts["protocols"][0]["enough"] == {"cells": 1, "holds": 0}
    assert json.loads((tmp_path / "out" / "verdicts.json").read_text()) == verdicts
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"survey.parquet", "survey.html", "verdicts.json"}
    assert asked == [Plan(["tfmcc"], 1, 1)]


@pytest.fixture
def without_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second to draw."""
    monkeypatch.setattr(page, "write_page", lambda *given: None)


@pytest.mark.usefixtures("without_page")
def test_all_protocols_unless_some_are_named(asked: list[Plan], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert RUNNER.invoke(APP, ["survey", *out, "--full", "--seed", "1000"]).exit_code == 0
    assert RUNNER.invoke(APP, ["survey", "rla", "rla", *out]).exit_code == 0
    assert asked == [Plan(protocols.names(), 200, 1000, True), Plan(["rla"], 200, 1)]


@pytest.mark.usefixtures("without_page")
def test_a_kind_has_a_folder_of_its_own(asked: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(APP, ["survey", "rla", "--only", "beside", "--json"])
    assert result.exit_code == 0
    assert asked == [Plan(["rla"], 200, 1, only="beside")]
    assert json.loads((tmp_path / "runs" / "survey-1-beside" / "verdicts.json").read_text())["only"] == "beside"


def test_an_interrupted_survey_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def survey(*arguments: object) -> Surveyed:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(surveys, "survey", survey)
    result = RUNNER.invoke(APP, ["survey", "tfmcc", "--out", str(tmp_path / "out")])
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr


@pytest.mark.usefixtures("without_page")
def test_failed_runs_are_exit_status_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def survey(plan: Plan, folder: Path, *rest: object) -> Surveyed:
        folder.mkdir(exist_ok=True)
        return Surveyed(plan, [outcome(0, 5e5)], ["cell 1, tfmcc: unlucky"])

    monkeypatch.setattr(surveys, "survey", survey)
    result = RUNNER.invoke(APP, ["survey", "tfmcc", "--cells", "2", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "cell 1, tfmcc: unlucky" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["smtp"], "there is no protocol `smtp` (known: arbor, mtcp, "),
        (["--cells", "0"], "--cells"),
        (["--cells", "2001"], "--cells"),
        (["--seed", "-1"], "--seed"),
        (["--jobs", "0"], "--jobs"),
        (["--only", "alone"], "there is no kind `alone` (known: lossless, beside, change)"),
    ],
)
def test_wrong_usage_is_exit_status_2(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(APP, ["survey", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_folder_that_cannot_be_written_is_exit_status_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = RUNNER.invoke(APP, ["survey", "tfmcc", "--cells", "1", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "file" in result.stderr


def test_help_has_an_example() -> None:
    assert "canopy survey mtcp tfmcc --cells 20" in RUNNER.invoke(APP, ["survey", "--help"]).stdout
