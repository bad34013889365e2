"""A host that forges a sender's packets on an ordinary LAN: an open session goes on by what follows, a sealed one by
what it can check."""

import json

import pytest

from tests.topologies.emulation.whole.conftest import Start

pytestmark = [pytest.mark.root, pytest.mark.emulation]

SCENARIO = """\
name: attacked
duration: 40 s
nodes:
  s1: {kind: p4}
  a: {kind: host}
  b: {kind: host}
  c: {kind: host}
  d: {kind: host}
  stranger: {kind: host}
links:
  - {between: [a, s1], rate: 100 Mbps}
  - {between: [s1, b], rate: 4 Mbps}
  - {between: [c, s1], rate: 100 Mbps}
  - {between: [s1, d], rate: 4 Mbps}
  - {between: [stranger, s1]}
sessions:
  - {id: 1, protocol: mtcp, sender: a, group: 239.1.1.1, port: 5001, membership: any-source, size: 3 MB, receivers: [b]}
  - {id: 2, protocol: mtcp, sender: c, group: 239.1.2.1, port: 5002, membership: any-source, size: 3 MB, receivers: [d],
     security: group}
faults:
  - {kind: attack, at: 1 s, session: 1, forgery: abort, host: stranger}
  - {kind: attack, at: 1 s, session: 2, forgery: data, host: stranger}
"""


def test_forged_packets_arrive_and_end_nothing(start: Start) -> None:
    run = start(SCENARIO, "--switch", "bridge")
    assert run.wait() == 0, run.said()
    summary = run.summary()
    assert summary["ok"]
    assert summary["switch"] == "bridge"
    assert not (run.folder / "logs" / "controller.log").exists()

    def said(name: str) -> dict[str, object]:
        lines = (run.folder / "agents" / name).read_text().splitlines()
        return dict(json.loads("".join(lines) if name.endswith("json") else lines[-1]))

    for session in (1, 2):
        assert said(f"session-{session}-stranger-1.jsonl")["sent"] == 1
    counters = said("session-2-d.json")["counters"]
    assert isinstance(counters, dict)
    assert {name: count for name, count in counters.items() if name.startswith("drop")} == {"drop_replayed": 1}
