"""MTCP's feedback merged by live switches though its packets are sealed: keys reach switches and hosts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.topologies.emulation.whole.conftest import Start

pytestmark = [pytest.mark.root, pytest.mark.emulation]

SCENARIO = """\
name: sealed
seed: 1
duration: 60 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  sender: {kind: host}
  r1: {kind: host}
  r2: {kind: host}
  r3: {kind: host}
links:
  - {between: [sender, s1], rate: 20 Mbps, delay: 1 ms}
  - {between: [s1, s2], rate: 8 Mbps, delay: 5 ms}
  - {between: [s2, r1], rate: 50 Mbps, delay: 2 ms}
  - {between: [s2, r2], rate: 50 Mbps, delay: 4 ms}
  - {between: [s1, r3], rate: 50 Mbps, delay: 1 ms, loss: 0.5 %}
sessions:
  - {id: 1, protocol: mtcp, sender: sender, group: 232.1.0.1, port: 5001, size: 1 MB,
     assist: switch, security: group, receivers: [r1, r2, r3]}
"""


def words(folder: Path, agent: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((folder / "agents" / f"session-1-{agent}.json").read_text())
    return said


def test_all_have_the_file_and_the_sender_hears_summaries(start: Start) -> None:
    run = start(SCENARIO)
    assert run.wait() == 0, run.said()
    session = run.summary()["sessions"][0]
    assert {receiver["sha256"] for receiver in session["receivers"]} == {session["sha256"]}
    counters = words(run.folder, "sender")["counters"]
    assert counters["opened_merged"] > 50
    dropped = {name: count for name, count in counters.items() if name.startswith("drop_")}
    assert not dropped.keys() & {"drop_hop", "drop_forged", "drop_version", "drop_oversized"}, dropped
