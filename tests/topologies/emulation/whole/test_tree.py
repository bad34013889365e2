"""A logical tree of two levels on live switches, one of whose agents is killed in the middle."""

from pathlib import Path

import pytest

from tests.topologies.emulation.whole.conftest import Start

pytestmark = [pytest.mark.root, pytest.mark.emulation]

TREE = Path(__file__).parents[4] / "topologies" / "tree.yaml"


def test_the_survivors_of_an_agents_death_hold_the_same_file(start: Start) -> None:
    run = start(TREE)
    assert run.wait() == 0, run.said()
    summary = run.summary()
    session = summary["sessions"][0]
    receivers = {receiver["host"]: receiver for receiver in session["receivers"]}
    assert not receivers.pop("a1")["complete"]
    assert {receiver["sha256"] for receiver in receivers.values()} == {session["sha256"]}
    assert session["dropped"] in ([], ["a1"])
    assert {receivers[name]["parent"] for name in ("r3", "r4")} == {"a2"}
    assert "a1" not in {receivers[name]["parent"] for name in ("r1", "r2")}
    assert session["cpu_s"] > 0
    # Without another parent its children would have been waited for, and dropped.
    assert summary["duration_s"] < 60
