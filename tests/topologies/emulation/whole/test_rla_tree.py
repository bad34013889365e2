"""RLA to nine receivers in a tertiary tree with a kernel's TCP to each of them: what load cannot break, and the shares.

The shares are noted (`record_property`) and held against nothing: on a busy machine they are the scheduler's.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.topologies.emulation.whole.conftest import Start

pytestmark = [pytest.mark.root, pytest.mark.emulation]

TREE = Path(__file__).parents[4] / "topologies" / "rla_tree.yaml"
BOTTLENECK_BPS = 4e6


@pytest.mark.parametrize("assist", ["none", "switch"])
def test_nine_receivers_beside_nine_kernel_tcps(
    start: Start, assist: str, record_property: Callable[[str, object], None]
) -> None:
    scenario = TREE.read_text().replace("assist: none", f"assist: {assist}").replace("size: 1500 kB", "size: 500 kB")
    run = start(scenario)
    assert run.wait() == 0, run.said()
    summary = run.summary()
    session = summary["sessions"][0]
    assert summary["ok"]
    assert len(session["receivers"]) == len(summary["flows"]) == 9
    assert {receiver["sha256"] for receiver in session["receivers"]} == {session["sha256"]}
    assert session["dropped"] == []
    rates = [flow["goodput_bps"] for flow in summary["flows"]]
    assert all(20_000 < rate < BOTTLENECK_BPS for rate in rates)
    for branch in range(0, 9, 3):
        assert sum(rates[branch : branch + 3]) < BOTTLENECK_BPS
    least = min(receiver["goodput_bps"] for receiver in session["receivers"])
    record_property(f"RLA / slowest TCP, assist {assist}", least / min(rates))
