"""Real-time sessions beside a kernel's TCP, through two emulated switches: what load cannot break, and their shares.

The shares are noted (`record_property`) and held against nothing: on a busy machine they are the scheduler's.
"""

import json
from collections.abc import Callable

import pytest

from tests.topologies.emulation.whole.conftest import Start
from tests.topologies.emulation.whole.harness import TWO_SWITCHES

pytestmark = [pytest.mark.root, pytest.mark.emulation]

SCENARIO = (
    TWO_SWITCHES.replace("60 s", "16 s").replace("links:", "  a: {{kind: host}}\n  b: {{kind: host}}\nlinks:")
    + """\
  - {{between: [a, s1], rate: 100 Mbps}}
  - {{between: [b, s2], rate: 100 Mbps}}
sessions:
  - {{id: 1, protocol: {protocol}, sender: sender, group: 232.1.0.1, port: 5001, realtime: true, assist: {assist},
     parameters: {{initial_rtt_s: 0.05}}, receivers: [r1, {{host: r2, leave: 12 s}}]}}
traffic:
  - {{kind: tcp, source: a, destination: b, congestion_control: reno, start: 4 s}}
"""
)


@pytest.mark.parametrize(("protocol", "assist"), [("tfmcc", "none"), ("vlmcc", "switch")])
def test_a_real_time_session_and_a_kernel_tcp(
    start: Start, protocol: str, assist: str, record_property: Callable[[str, object], None]
) -> None:
    run = start(SCENARIO.format(name="realtime", rate="4 Mbps", protocol=protocol, assist=assist), report=True)
    assert run.wait() == 0, run.said()
    summary = run.summary()
    session = summary["sessions"][0]
    assert summary["ok"]
    assert summary["outcome"] == "time limit"
    stayed, left = session["receivers"]
    assert (stayed["complete"], stayed["detail"]) == (True, "")
    assert (left["expected"], left["detail"]) == (False, "left, as the scenario says")
    assert session["feedback_packets"] > 0
    (flow,) = summary["flows"]
    assert 10_000 < stayed["goodput_bps"] < 4e6
    assert 10_000 < flow["goodput_bps"] < 4e6
    trace = [json.loads(line) for line in (run.folder / "series" / "session-1-sender.jsonl").read_text().splitlines()]
    assert trace[0]["role"] == "sender"
    assert trace[-1]["sent_bytes"] > 0
    record_property(f"{protocol} beside reno", stayed["goodput_bps"] / flow["goodput_bps"])
