"""`canopy doctor` on this machine, and on one that lacks things."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hosts.doctor import command, trial
from hosts.doctor.finding import Finding

ROOT = Path(__file__).parents[3]


def test_this_machine() -> None:
    result = CliRunner().invoke(command.app, ["--for", "agents", "--for", "switch", "--json"])
    answer = json.loads(result.stdout)
    assert (result.exit_code == 0) == answer["ok"]
    session = next(finding for finding in answer["findings"] if finding["area"] == "session")
    assert session["verdict"] == "ok"


@pytest.mark.parametrize(("verdict", "code"), [("ok", 0), ("advice", 0), ("unknown", 0), ("missing", 1)])
def test_exit_status_and_text(verdict: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("area", "subject", verdict, "what", "do this")  # type: ignore[arg-type]
    monkeypatch.setattr(command, "examine", lambda: iter([finding]))
    result = CliRunner().invoke(command.app, [])
    assert result.exit_code == code
    first, second, last = result.stdout.splitlines()
    assert first.split() == [verdict, "area", "subject:", "what"]
    assert second.strip() == "-> do this"
    assert last == f"for agents: {'1 missing' if code else 'all that is needed is there'}"


def test_what_nobody_asked_for_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("area", "subject", "missing", "what", parts=("emulation",))
    monkeypatch.setattr(command, "examine", lambda: iter([finding]))
    assert CliRunner().invoke(command.app, []).exit_code == 0
    assert CliRunner().invoke(command.app, ["--for", "emulation"]).exit_code == 1
    assert CliRunner().invoke(command.app, ["--for", "nothing"]).exit_code == 2


def test_a_session_that_does_not_come_through() -> None:
    finding = trial.check(within_s=0.0)
    assert finding.verdict == "missing"


@pytest.mark.root
def test_a_machine_without_a_network() -> None:
    """In a namespace where even loopback is down."""
    program = [sys.executable, "-m", "hosts.doctor.command", "--json"]
    answer = subprocess.run(["unshare", "--net", *program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    missing = {
        finding["subject"] for finding in json.loads(answer.stdout)["findings"] if finding["verdict"] == "missing"
    }
    assert {"any", "loopback"} <= missing
