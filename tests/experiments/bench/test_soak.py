import json
import sys
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from experiments.bench import soak
from experiments.bench.cli import app
from experiments.bench.soak import Memory, Soak, document, ended_early, processes
from topologies.scenario import parse_scenario


@pytest.mark.parametrize("is_emulated", [True, False])
def test_it_is_a_scenario_of_all_protocols_with_faults(is_emulated: bool) -> None:
    scenario = parse_scenario(yaml.safe_dump(document(600.0, is_emulated=is_emulated)))
    assert [session.protocol for session in scenario.sessions] == [*soak.RELIABLE, *soak.STREAMS]
    assert {session.security for session in scenario.sessions} == {"group"}
    assert len({fault.kind for fault in scenario.faults}) == 3
    assert scenario.duration == 600


def test_memory_that_grows_is_found() -> None:
    times = range(101)
    series = {
        "flat 1": [(float(at), 50.0) for at in times],
        "grows 2": [(float(at), 50.0 + at / 10) for at in times],
        "early 3": [(float(at), 20.0) for at in times if at < 50],
        "late 4": [(float(at), 20.0) for at in times if at > 50],
    }
    found = processes(series)
    assert [(one.name, one.is_flat) for one in found] == [("flat", True), ("grows", False)]
    assert found[1].most_mb == 60
    assert not Soak(100.0, 100.0, found).is_flat


def test_the_command_watches_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "_POLL_S", 0.05)
    result = CliRunner().invoke(app, ["soak", "--minutes", "0.5", "--json"])
    assert result.exit_code in (0, 1), result.output  # half a minute is too short to be flat
    (one,) = json.loads(result.stdout)["processes"]
    assert one["name"] == "topologies.cli simulate"
    assert one["most_mb"] >= one["last_mb"] > 30


def summary(**changed: object) -> dict[str, Any]:
    stream = {
        "protocol": "tfmcc",
        "sending_until": 580.0,
        "detail": "",
        "state": "sending",
        "dropped": [],
        "receivers": [{"host": "r1", "complete": True}],
    }
    file = {**stream, "protocol": "mtcp", "receivers": [{"host": "r2", "complete": False}], **changed}
    return {"outcome": "time limit", "duration_s": 600.0, "sessions": [stream, file]}


def test_what_ends_early_is_named() -> None:
    assert ended_early(summary(), 600.0) == []
    assert ended_early({**summary(), "duration_s": 300.0, "outcome": "done"}, 600.0) == [
        "the run was done after 300 s of 600"
    ]
    assert ended_early(summary(sending_until=100.0, detail="no receiver is left"), 600.0) == [
        "mtcp sent until 100 s (no receiver is left)"
    ]
    assert ended_early(summary(sending_until=None, state="not started"), 600.0) == ["mtcp sent until 0 s (not started)"]
    assert ended_early(summary(dropped=["r2"]), 600.0) == ["r2 did not stay"]
    gone = [{"host": "r3", "complete": False}]
    assert ended_early(summary(protocol="vlmcc", receivers=gone), 600.0) == ["r3 did not stay"]


@pytest.mark.parametrize(
    ("script", "message"),
    [("import sys; sys.exit('no such device')", "came to no result: no such device"), ("1 / 0", "to no result")],
)
def test_a_run_that_fails_is_no_success(monkeypatch: pytest.MonkeyPatch, script: str, message: str) -> None:
    monkeypatch.setattr(soak, "module_command", lambda *given: [sys.executable, "-c", script])
    monkeypatch.setattr(soak, "_POLL_S", 0.05)
    result = CliRunner().invoke(app, ["soak", "--minutes", "0.5"])
    assert result.exit_code == 1
    assert message in result.stderr


def test_growth_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = Soak(60.0, 1.0, [Memory("switch", 50.0, 60.0, 61.0)])
    monkeypatch.setattr(soak, "measure", lambda seconds, *, is_emulated: grown)
    result = CliRunner().invoke(app, ["soak"])
    assert result.exit_code == 1
    assert "60.0" in result.stdout
