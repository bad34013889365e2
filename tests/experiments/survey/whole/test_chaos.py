"""Each protocol in a survey's networks with faults on top.

CANOPY_CHAOS_CELLS=100 pytest tests/experiments/survey/whole/test_chaos.py looks longer.
"""

import itertools
import json
import os
from pathlib import Path

import pytest

from hosts import protocols
from tests.experiments.survey.chaos import FIRST_SEED, LAST_S, REALTIME_S, cells, chaos_document
from tests.topologies.simulation.chaos import check_session
from topologies.results import report
from topologies.results.run_folder import RunFolder, read_series
from topologies.scenario import parse_scenario
from topologies.simulation.runner import SimulationOptions, simulate_scenario

CELLS = max(1, int(os.environ.get("CANOPY_CHAOS_CELLS", "2")))


@pytest.fixture(autouse=True)
def _no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing plots takes longer than the runs."""
    monkeypatch.setattr(report, "write_report", lambda folder: None)


@pytest.mark.parametrize("place", range(CELLS))
@pytest.mark.parametrize("protocol", protocols.names())
def test_whoever_survives_is_served(protocol: str, place: int, tmp_path: Path) -> None:
    cell = next(itertools.islice(cells(FIRST_SEED), place, None))
    document = chaos_document(cell, protocol)
    path = tmp_path / "chaos.yaml"
    path.write_text(json.dumps(document, indent=1))
    print(path.read_text())
    scenario = parse_scenario(path.read_text(), str(path))
    out = tmp_path / "run"
    session = simulate_scenario(scenario, SimulationOptions(path, out=out)).sessions[0]
    if "size" in document["sessions"][0]:
        check_session(document, session)
        return
    for receiver in session.receivers:
        if receiver.expected:
            rows = read_series(RunFolder(out).series / f"session-1-{receiver.host}.jsonl")
            received = [(row["t"], row["received_bytes"]) for row in rows if "received_bytes" in row]
            before = max((count for at, count in received if at <= REALTIME_S - LAST_S), default=0)
            assert received[-1][1] > before, f"{receiver.host} gets nothing any more"
