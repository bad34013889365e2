"""Queues that manage themselves and paths that change, emulated by live switches."""

from statistics import median

import pytest

from tests.topologies.emulation.whole.conftest import Start
from topologies.results.run_folder import read_series

pytestmark = [pytest.mark.root, pytest.mark.emulation]

SCENARIO = """\
name: paths
duration: 12 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  a: {kind: host}
  b: {kind: host}
  c: {kind: host}
links:
  - {between: [a, s1], rate: 100 Mbps}
  - {between: [s1, s2], rate: 10 Mbps, delay: 2 ms, queue: {kind: codel}}
  - {between: [s2, b], rate: 100 Mbps, duplicate: 5 %}
  - {between: [s2, c], rate: 100 Mbps, mtu: 500 B}
traffic:
  - {kind: tcp, source: a, destination: b}
  - {kind: udp, source: a, destination: c, rate: 100 kbps, packet: 600 B}
faults:
  - {kind: link-rate, at: 5 s, link: [s1, s2], rate: 3 Mbps}
  - {kind: link-delay, at: 8 s, link: [s1, s2], delay: 60 ms}
"""


def test_a_live_network_changes_while_it_runs(start: Start) -> None:
    run = start(SCENARIO)
    assert run.wait() == 0, run.said()
    ports, flow = (read_series(run.folder / "series" / f"{name}.jsonl") for name in ("ports", "flow-0"))
    rows = [row for row in ports if (row["switch"], row["neighbour"]) == ("s1", "s2")]

    def rate(since: float, until: float) -> float:
        inside = [row for row in rows if since <= row["t"] <= until]
        return float((inside[-1]["tx_bytes"] - inside[0]["tx_bytes"]) * 8 / (inside[-1]["t"] - inside[0]["t"]))

    def rtt(since: float, until: float) -> float:
        found = [row["rtt_s"] for row in flow if since <= row["t"] <= until and row.get("rtt_s")]
        return float(median(found))

    assert 7e6 < rate(2, 5) < 10.2e6
    assert 1.5e6 < rate(6, 8) < 3.1e6
    assert rate(9, 12) < 3.1e6
    assert rtt(2, 5) < 0.04  # CoDel's; a full DropTail of 64 packets would be 80 ms
    assert rtt(9.5, 12) > 0.115
    assert rows[-1]["drop_aqm"] > 0
    (there, _) = run.summary()["queues"]
    assert (there["kind"], there["drop_aqm"]) == ("codel", rows[-1]["drop_aqm"])
    last = {row["neighbour"]: row for row in ports if row["switch"] == "s2"}
    assert last["b"]["duplicated_packets"] > 100
    assert last["c"]["drop_mtu"] > 50
    kinds = [row["kind"] for row in read_series(run.folder / "series" / "events.jsonl")]
    assert kinds == ["link rate", "link delay"]
