import signal
from datetime import datetime
from pathlib import Path

import pytest

from engine.command.signals import Interrupted
from topologies.results.run_folder import (
    RunFolderError,
    SeriesWriter,
    create_run_folder,
    discarded_if_interrupted,
    read_series,
)

NOW = datetime(2026, 3, 4, 5, 6, 7)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text("name: x")
    return path


def test_a_run_folder_is_named_by_scenario_and_time(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = create_run_folder(scenario, "quick", None, NOW)
    assert folder.path == tmp_path / "runs" / "quick-20260304-050607"
    assert folder.scenario.read_text() == "name: x"
    assert folder.logs.is_dir()
    assert create_run_folder(scenario, "quick", None, NOW).path.name == "quick-20260304-050607-2"


def test_a_given_folder_is_used_if_it_is_empty(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert create_run_folder(scenario, "quick", out, NOW).path == out
    with pytest.raises(RunFolderError, match=r"out: exists already and is not an empty folder"):
        create_run_folder(scenario, "quick", out, NOW)


def test_what_a_signal_ended_before_there_were_results_leaves_the_folder_free(scenario: Path, tmp_path: Path) -> None:
    for has_results in (False, True):
        folder = create_run_folder(scenario, "quick", tmp_path / "out", NOW)
        if has_results:
            folder.summary.write_text("{}")
        with pytest.raises(Interrupted), discarded_if_interrupted(folder):
            raise Interrupted(signal.SIGINT)
        assert folder.path.exists() is has_results


def test_a_folder_that_cannot_be_made_is_told_in_one_line(scenario: Path) -> None:
    with pytest.raises(RunFolderError, match=r"x\.yaml.*: Not a directory") as caught:
        create_run_folder(scenario, "quick", scenario / "out", NOW)
    assert "\n" not in str(caught.value)


def test_a_series_is_read_back_without_a_line_that_was_cut_off(tmp_path: Path) -> None:
    writer = SeriesWriter(tmp_path / "s.jsonl")
    writer.write([{"t": 0.5, "n": 1}, {"t": 1.0, "n": None}])
    writer.close()
    with (tmp_path / "s.jsonl").open("a") as file:
        file.write('{"t": 1.5, "n"')
    assert read_series(tmp_path / "s.jsonl") == [{"t": 0.5, "n": 1}, {"t": 1.0, "n": None}]
    assert read_series(tmp_path / "none.jsonl") == []


def test_a_full_disk_loses_rows_but_not_the_run() -> None:
    writer = SeriesWriter(Path("/dev/full"))
    writer.write([{"t": 0.5}])
    assert writer.lost == 1
    writer.close()
