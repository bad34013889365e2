"""`canopy simulate`, as a user runs it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.topologies.simulation.runs import session, tree
from tests.waiting import wait_for
from topologies.cli import app

LONG = """\
name: long
duration: 50 h
nodes:
  s1: {kind: router}
  a: {kind: host}
  b: {kind: host}
links:
  - {between: [a, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [s1, b]%s}
traffic:
  - {kind: tcp, source: a, destination: b}
"""
START_LIMIT_S = 60.0


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def run(folder: Path, text: str, *options: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    path = write(folder, text)
    result = CliRunner().invoke(app, ["simulate", str(path), "--out", str(folder / "run"), *options])
    return result.exit_code, result.stdout, result.stderr


def test_a_session_that_succeeds(tmp_path: Path) -> None:
    status, said, _ = run(tmp_path, tree() + session("100 kB"))
    assert status == 0
    assert "4 of 4 receivers hold the whole file" in said
    assert "s simulated in" in said


def test_json_is_the_summary_and_nothing_else(tmp_path: Path) -> None:
    status, said, _ = run(
        tmp_path, tree() + session("100 kB"), "--json", "--switch", "router", "--seed", "9", "--no-report"
    )
    assert status == 0
    summary = json.loads(said)
    assert summary == json.loads((tmp_path / "run" / "summary.json").read_text())
    assert (summary["seed"], summary["switch"]) == (9, "router")


@pytest.mark.parametrize("until", ["0.5", "0"])
def test_receivers_that_lack_the_file_are_a_failure(tmp_path: Path, until: str) -> None:
    status, said, _ = run(tmp_path, tree() + session("5 MB"), "--until", until)
    assert status == 1
    assert "0 of 4 receivers hold the whole file" in said
    assert "ended by: time limit" in said


def test_checking_runs_nothing(tmp_path: Path) -> None:
    status, said, _ = run(tmp_path, tree() + session(), "--check")
    assert (status, "a valid scenario (5 hosts, 3 switches)" in said) == (0, True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rate: 50 Mbps, delay: 2 ms", "rate: 0 Mbps"), "scenario.yaml:17: links[3].rate: must be above zero"),
        (("  r4: {kind: host}", "  r4: {kind: host}\n  r5: {kind: host}"), "nodes.r5: is connected to nothing"),
        (("s2: {kind: p4}", "s2: {kind: router}"), "scenario.yaml:6: nodes.s2.kind: a network has either P4 switches"),
        (("kind: droptail, packets: 50}}", "kind: droptail}}"), "needs a limit"),
    ],
    ids=["zero rate", "unconnected", "mixed", "no limit"],
)
def test_the_impossible_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    status, _, said = run(tmp_path, tree().replace(*change) + session())
    assert status == 2
    assert message in said
    assert not (tmp_path / "run").exists()


def test_a_stream_without_end_lasts_as_long_as_the_scenario_and_needs_no_report(tmp_path: Path) -> None:
    text = tree() + session().replace("size: 500 kB", "endless: true")
    status, said, _ = run(tmp_path, text, "--until", "3", "--json", "--no-report")
    summary = json.loads(said)
    assert (status, summary["outcome"]) == (0, "time limit")
    for receiver in summary["sessions"][0]["receivers"]:
        assert receiver["complete"]
        assert 4e6 < receiver["goodput_bps"] < 10e6
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_run_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    status, _, said = run(tmp_path, tree() + session())
    assert status == 2
    assert "exists already" in said


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    status, _, said = run(tmp_path, tree() + session(), "--file", str(tmp_path / "nothing"))
    assert status == 2
    assert "no such file" in said


def test_time_that_stands_still_is_an_error_and_no_hang(tmp_path: Path) -> None:
    text = LONG.replace(", rate: 100 Mbps, delay: 1 ms", "") % ""
    status, _, said = run(tmp_path, text)
    assert status == 1
    assert "time stands still at 0 s" in said


def test_ctrl_c_ends_with_the_results_so_far(tmp_path: Path) -> None:
    path, folder = write(tmp_path, LONG % ", rate: 50 Mbps, delay: 1 ms"), tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "topologies.cli", "simulate", str(path), "--out", str(folder), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ},
        text=True,
    )
    series = folder / "series" / "flow-0.jsonl"
    wait_for(
        lambda: process.poll() is not None or (series.exists() and series.stat().st_size > 2000), "its series grows"
    )
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=START_LIMIT_S)
    assert process.returncode == 130
    summary = json.loads(said)
    assert summary["outcome"] == "interrupted"
    assert summary["flows"][0]["goodput_bps"] > 30e6
    assert (folder / "report.html").exists()
    assert json.loads((folder / "summary.json").read_text()) == summary
