"""Simulation and emulation of the same scenario come to the same results."""

from pathlib import Path
from typing import Any

import pytest

from tests.topologies.emulation.whole.conftest import Start
from topologies.scenario import load_scenario
from topologies.simulation.runner import SimulationOptions, simulate_scenario

pytestmark = [pytest.mark.root, pytest.mark.emulation, pytest.mark.alone]

QUICKSTART = Path(__file__).parents[4] / "topologies" / "quickstart.yaml"
TOLERANCE = 0.1
ATTEMPTS = 3
"""Of the emulation, as a machine that is busy with other things slows it down: never the simulation."""


def test_goodput_losses_and_feedback_of_the_quickstart(start: Start, base: Path, tmp_path: Path) -> None:
    file = base / "payload.bin"
    file.write_bytes(bytes(range(256)) * 20_000)
    scenario = load_scenario(QUICKSTART, purpose="simulate")
    options = SimulationOptions(QUICKSTART, file=file, out=tmp_path / "simulated", report=False)
    simulated = simulate_scenario(scenario, options).as_json()["sessions"][0]
    assert all(receiver["complete"] for receiver in simulated["receivers"])

    differences: list[str] = []
    for _ in range(ATTEMPTS):
        run = start(QUICKSTART, "--file", str(file))
        assert run.wait() == 0, run.said()
        differences = compare(simulated, run.summary()["sessions"][0])
        if not differences:
            return
    assert not differences


def compare(simulated: dict[str, Any], emulated: dict[str, Any]) -> list[str]:
    """What differs by more than `TOLERANCE`, one line each."""
    pairs = [("feedback packets", simulated["feedback_packets"], emulated["feedback_packets"])]
    for one, other in zip(simulated["receivers"], emulated["receivers"], strict=True):
        pairs.append((f"goodput of {one['host']}", one["goodput_bps"], other["goodput_bps"]))
        pairs.append((f"losses at {one['host']}", one["lost_packets"], other["lost_packets"]))
    return [
        f"{what}: {one} simulated, {other} emulated"
        for what, one, other in pairs
        if abs(one - other) > max(TOLERANCE * max(one, other), 2)
    ]
