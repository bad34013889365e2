"""The row on an ordinary LAN."""

import pytest

from experiments.lan.scenario import LanScenario
from experiments.rows.lan.rows import ROWS, filled


def test_all_protocols_run_alone_and_beside_both_tcps_on_both_links() -> None:
    (row,) = ROWS
    assert row.experiment is not None
    scenarios = [LanScenario.model_validate(case.document) for case in row.experiment.cases(False)]
    assert len(scenarios) == 5 * 2 * 3
    assert {(scenario.rate_bps, scenario.queue_bytes) for scenario in scenarios} == {(20e6, 60_000), (100e6, 250_000)}
    assert {flow.congestion_control for scenario in scenarios for flow in scenario.traffic} == {"cubic", "reno"}
    assert {scenario.receivers for scenario in scenarios} == {8}


def test_a_link_is_filled_between_the_first_data_and_the_last() -> None:
    # Announcements until 5 s, then 1 Mbit/s for 10 s, then farewells.
    counter = [(t / 10, min(t, 50) * 100 + max(0, min(t - 50, 100)) * 12_500.0) for t in range(300)]
    assert filled(counter, 2e6) == pytest.approx(0.5, rel=0.02)
    with pytest.raises(ValueError, match="too little"):
        filled([(0.0, 0.0), (1.0, 5_000.0)], 2e6)
