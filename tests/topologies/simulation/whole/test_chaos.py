"""Tens of random scenarios through the simulator, with P4 switches: whoever survives holds the file.

CANOPY_CHAOS_SEEDS=10000 pytest tests/topologies/simulation/whole/test_chaos.py looks longer.
"""

import json
import os
from pathlib import Path

import pytest

from tests.topologies.simulation.chaos import check_session, draw_scenario
from topologies.scenario import parse_scenario
from topologies.simulation.runner import SimulationOptions, simulate_scenario

SEEDS = max(1, int(os.environ.get("CANOPY_CHAOS_SEEDS", "400")) // 10)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_hold_the_file(seed: int, tmp_path: Path) -> None:
    document = draw_scenario(seed)
    path = tmp_path / "chaos.yaml"
    path.write_text(json.dumps(document, indent=1))
    print(json.dumps({**document["sessions"][0], "faults": document["faults"]}))
    scenario = parse_scenario(path.read_text(), str(path))
    summary = simulate_scenario(scenario, SimulationOptions(path, out=tmp_path / "run", report=False))
    assert summary.outcome == "done"
    check_session(document, summary.sessions[0])
