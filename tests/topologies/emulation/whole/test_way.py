from pathlib import Path

import pytest

from tests.topologies.whole.way import WAY, watched_way

pytestmark = [pytest.mark.root, pytest.mark.emulation]


def test_a_scenario_that_is_emulated_passes_as_few_files_as_one_that_is_simulated(tmp_path: Path) -> None:
    found = watched_way("emulation", tmp_path, CANOPY_STATE_ROOT=str(tmp_path / "state"))
    assert found == sorted(part.format(world="emulation") for part in WAY)
