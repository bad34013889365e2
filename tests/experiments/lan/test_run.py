"""A run on the LAN, with its programs. Needs root."""

import json
import time
from pathlib import Path

import pytest

from experiments.lan.run import run
from experiments.lan.scenario import LINK, LanScenario
from tests.experiments.lan.test_scenario import DOCUMENT
from topologies.results.run_folder import RunFolder

pytestmark = pytest.mark.root


@pytest.mark.parametrize("beside", [None, "cubic"])
def test_a_file_goes_to_all_alone_and_beside_a_tcp(tmp_path: Path, beside: str | None) -> None:
    flow = {"kind": "tcp", "source": "server", "destination": "client", "congestion_control": beside}
    scenario = LanScenario.model_validate({**DOCUMENT, "traffic": [flow] if beside else []})
    folder = RunFolder(tmp_path / "run")
    run(scenario, folder, time.time(), tmp_path / "payload.bin")
    rows = [json.loads(line) for line in (folder.series / f"{LINK}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
    size = 2.0 * 5e6 / 8
    assert rows[-1]["bytes"] > (0.1 * size if beside else size)
    for name in scenario.names:
        traced = (folder.series / f"session-1-{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert json.loads(traced[-1])["received_bytes"] > 0
        assert (folder.received / name / "payload.bin").exists() == (beside is None)
    assert (folder.series / "flow-0.jsonl").exists() == bool(beside)
