"""A sealed session over P4 switches, which replicate what they cannot read."""

import json
from pathlib import Path

import pytest

from tests.topologies.simulation.runs import session, simulate, tree
from topologies.scenario import ScenarioError


def sealed(protocol: str, security: str = "group") -> str:
    return tree() + session("100 kB").replace("protocol: mtcp", f"protocol: {protocol}\n    security: {security}")


@pytest.mark.parametrize("security", ["group", "signed"])
@pytest.mark.parametrize("protocol", ["mtcp", "rla"])
def test_everybody_has_the_whole_file(tmp_path: Path, protocol: str, security: str) -> None:
    run = simulate(tmp_path / "run", sealed(protocol, security))
    (result,) = run.summary.sessions
    assert all(receiver.complete for receiver in result.receivers)
    again = simulate(tmp_path / "again", sealed(protocol, security))
    assert again.files() == run.files(), "a seed gives the same run"


def test_a_processor_that_seals_slowly_bounds_the_rate(tmp_path: Path) -> None:
    """100 kB are 73 packets at least, of which each takes the sender 10 ms."""
    text = sealed("mtcp")
    quick = simulate(tmp_path / "quick", text + "simulation: {sealing: {seal: 1 us, open: 1 us}}\n")
    slow = simulate(tmp_path / "slow", text + "simulation: {sealing: {seal: 10 ms, open: 1 us}}\n")
    first, second = (run.sender()["t"] for run in (quick, slow))
    assert first < 0.73 < second


def test_switches_help_no_sender_that_signs(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"sessions\[0\].security: switches copy what a sender signs"):
        simulate(tmp_path / "run", sealed("rla", "signed").replace("security:", "assist: switch\n    security:"))


def test_what_receivers_say_passes_switches_as_it_is(tmp_path: Path) -> None:
    run = simulate(tmp_path / "run", sealed("rla"))
    said = [json.loads(path.read_text()) for path in (run.folder / "agents").glob("session-1-r*.json")]
    acks = sum(one["counters"]["feedback_packets"] for one in said)
    last = run.sender()
    assert acks - 4 <= last["feedback_packets"] <= acks, "all but those that come when the sender is through"
    assert last["summaries"] == 0
    assert not {"drop_forged", "drop_open"} & {counter for one in said for counter in one["counters"]}
