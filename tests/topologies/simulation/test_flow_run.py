"""Cross traffic of simulated runs."""

import random
from pathlib import Path

import pytest

from hosts.endpoint import Address
from tests.topologies.simulation.runs import simulate
from topologies.scenario.activity import OnOffFlow
from topologies.simulation.flow_run import OnOffSource

DUMBBELL = """\
name: dumbbell
duration: 10 s
nodes:
  left: {kind: router}
  right: {kind: router}
  a: {kind: host}
  b: {kind: host}
  c: {kind: host}
  d: {kind: host}
links:
  - {between: [a, left], rate: 100 Mbps, delay: 1 ms}
  - {between: [c, left], rate: 100 Mbps, delay: 1 ms}
  - {between: [left, right], rate: 10 Mbps, delay: 20 ms, queue: {kind: droptail, packets: 40}}
  - {between: [right, b], rate: 100 Mbps, delay: 1 ms}
  - {between: [right, d], rate: 100 Mbps, delay: 1 ms}
traffic:
"""


def test_tcp_fills_the_bottleneck(tmp_path: Path) -> None:
    run = simulate(tmp_path / "run", DUMBBELL + "  - {kind: tcp, source: a, destination: b}\n")
    assert run.summary.outcome == "done"
    goodput = run.summary.flows[0].goodput_bps
    assert goodput is not None
    assert 0.85 * 10e6 < goodput < 10e6 * 1448 / 1514
    rows = run.series("flow-0")
    assert {"t", "cwnd", "ssthresh", "rtt_s", "mss", "retransmitted", "acked_bytes"} <= set(rows[-1])
    assert rows[-1]["rtt_s"] > 0.044
    assert rows[-1]["mss"] == 1448
    assert [row["t"] for row in rows[:3]] == [0.0, 0.25, 0.5]


def test_two_tcps_share(tmp_path: Path) -> None:
    flows = "  - {kind: tcp, source: a, destination: b}\n  - {kind: tcp, source: c, destination: d, start: 100 ms}\n"
    run = simulate(tmp_path / "run", DUMBBELL.replace("10 s", "40 s") + flows)
    one, other = (flow.goodput_bps or 0.0 for flow in run.summary.flows)
    assert 0.6 < one / other < 1.7
    assert 0.85 * 10e6 < one + other < 10e6


def test_tcp_stops(tmp_path: Path) -> None:
    run = simulate(tmp_path / "run", DUMBBELL + "  - {kind: tcp, source: a, destination: b, start: 1 s, stop: 3 s}\n")
    rows = run.series("flow-0")
    assert (rows[0]["t"], rows[-1]["t"]) == (1.0, 3.0)
    ports = [row for row in run.series("ports") if (row["switch"], row["neighbour"]) == ("left", "right")]
    at = {row["t"]: row["tx_bytes"] for row in ports}
    assert at[1.0] < at[3.0]
    assert at[4.0] == at[10.0]


def test_udp_at_a_constant_rate_loses_what_does_not_fit(tmp_path: Path) -> None:
    flow = "  - {kind: udp, source: a, destination: b, rate: 12 Mbps, packet: 1000 B}\n"
    run = simulate(tmp_path / "run", DUMBBELL + flow)
    assert run.summary.flows[0].goodput_bps == pytest.approx(10e6 * 1000 / 1042, rel=0.01)
    sent, received = run.series("flow-0")[-1], run.series("flow-0-sink")[-1]
    assert sent["sent_bytes"] * 8 / 10 == pytest.approx(12e6, rel=0.001)
    assert received["received_bytes"] == 1000 * received["received_packets"]


def test_a_session_s_hosts_may_have_udp_flows_too(tmp_path: Path) -> None:
    session = "  - {id: 1, protocol: mtcp, sender: a, group: 232.1.0.1, port: 5001, size: 100 kB, receivers: [b]}\n"
    flow = "  - {kind: udp, source: a, destination: b, rate: 1 Mbps}\n"
    run = simulate(tmp_path / "run", DUMBBELL + flow + "sessions:\n" + session)
    assert run.summary.ok
    assert run.summary.flows[0].goodput_bps == pytest.approx(1e6, rel=0.05)


def test_on_off_sends_so_much_on_average(tmp_path: Path) -> None:
    flow = "  - {kind: on-off, source: a, destination: b, rate: 4 Mbps, on: 50 ms, off: 50 ms, distribution: %s}\n"
    for distribution in ("constant", "exponential", "pareto"):
        run = simulate(tmp_path / distribution, DUMBBELL + flow % distribution)
        assert run.summary.flows[0].goodput_bps == pytest.approx(2e6, rel=0.35), distribution


def test_web_transfers_come_and_go(tmp_path: Path) -> None:
    run = simulate(tmp_path / "run", DUMBBELL + "  - {kind: web, source: a, destination: b, gap: 50 ms, size: 12 kB}\n")
    last = run.series("flow-0")[-1]
    assert last["transfers_begun"] == pytest.approx(200, rel=0.3)
    assert last["transfers_finished"] > 0.9 * last["transfers_begun"]
    assert run.summary.flows[0].goodput_bps


def test_tcp_as_the_scenario_has_it(tmp_path: Path) -> None:
    tcp = "kind: tcp, congestion_control: newreno, simulated: {packet: 1000 B, size: 100 kB}"
    run = simulate(tmp_path / "run", DUMBBELL + f"  - {{source: a, destination: b, {tcp}}}\n")
    last = run.series("flow-0")[-1]
    assert last["acked_bytes"] == 100_000
    assert last["mss"] == 946


def test_the_goodput_of_a_transfer_that_ends_is_over_its_own_time(tmp_path: Path) -> None:
    flow = "  - {kind: tcp, source: a, destination: b, start: 1 s, stop: %s, simulated: {size: 1 MB}}\n"
    for stop in ("4 s", "9 s"):
        run = simulate(tmp_path / stop, DUMBBELL + flow % stop)
        rows = run.series("flow-0")
        assert [row["acked_bytes"] == 1_000_000 for row in rows[-2:]] == [False, True]
        # 1,460 of 1,514 bytes at 10 Mbit/s take 0.83 s, slow start and a round trip come on top.
        assert 0.83 < rows[-1]["t"] - 1 < 1.5
        assert run.summary.flows[0].goodput_bps == pytest.approx(8e6 / (rows[-1]["t"] - 1), rel=1e-6)


def test_an_on_off_source_keeps_its_gap_and_its_pauses() -> None:
    flow = OnOffFlow.model_validate(
        {
            "kind": "on-off",
            "source": "a",
            "destination": "b",
            "rate": "8 kbps",
            "packet": "100 B",
            "on": "250 ms",
            "off": "1 s",
            "distribution": "constant",
        }
    )
    source = OnOffSource(flow, Address("10.0.0.2", 9), random.Random(1))
    assert source.start(now=5.0) == ()
    times = []
    for _ in range(6):
        assert source.wake_at is not None
        times.append(source.wake_at)
        assert len(source.handle_timer(now=source.wake_at)[0].data) == 100
    assert times == pytest.approx([5.0, 5.1, 5.2, 6.25, 6.35, 6.45])
    assert source.sent_bytes == 600
