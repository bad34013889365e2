from pathlib import Path

from tests.topologies.whole.way import WAY, watched_way


def test_a_scenario_that_is_simulated_passes_few_files(tmp_path: Path) -> None:
    assert watched_way("simulation", tmp_path) == sorted(part.format(world="simulation") for part in WAY)
    assert len(WAY) <= 12
