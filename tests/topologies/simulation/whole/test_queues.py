"""The kinds of queues in a scenario: what they do to TCP and to others, what the series and the summary say of it."""

from pathlib import Path
from statistics import mean

import pytest

from tests.topologies.simulation.runs import Run, simulate

SCENARIO = """\
name: queues
seed: 1
duration: 20 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  a: {kind: host}
  b: {kind: host}
  c: {kind: host}
  d: {kind: host}
links:
  - {between: [a, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [c, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [s1, s2], rate: 10 Mbps, delay: 10 ms, queue: {%s}}
  - {between: [s2, b], rate: 100 Mbps, delay: 1 ms}
  - {between: [s2, d], rate: 100 Mbps, delay: 1 ms}
traffic:
  - {kind: %s, source: a, destination: b}
  - {kind: udp, source: c, destination: d, rate: 400 kbps, packet: 500 B}
"""
PACKET_S = 1514 * 8 / 10e6


def run_with(folder: Path, queue: str, flow: str = "tcp") -> Run:
    return simulate(folder / "run", SCENARIO % (queue, flow))


def bottleneck(run: Run) -> list[dict[str, float]]:
    return [row for row in run.series("ports") if (row["switch"], row["neighbour"]) == ("s1", "s2")]


def standing_delay(run: Run) -> float:
    """Seconds that the mean queue takes after 5 s, were all its packets TCP's."""
    return mean(row["queue_packets"] for row in bottleneck(run) if row["t"] > 5) * PACKET_S


def goodputs(run: Run) -> list[float]:
    return [flow.goodput_bps or 0.0 for flow in run.summary.flows]


@pytest.mark.parametrize(
    ("kind", "target_s"), [("codel", 0.005), ("fq_codel", 0.005), ("pie", 0.015), ("dualpi2", 0.015)]
)
def test_an_aqm_keeps_the_delay_of_tcp_about_its_target(tmp_path: Path, kind: str, target_s: float) -> None:
    run = run_with(tmp_path, f"kind: {kind}")
    assert 0.1 * target_s < standing_delay(run) < 2 * target_s
    last = bottleneck(run)[-1]
    assert last["drop_aqm"] > 0
    assert (last["drop_queue"], last["drop_red"], last["marked_packets"]) == (0, 0, 0)  # nobody here is ECN capable
    assert goodputs(run)[0] > 7e6
    (there, back) = run.summary.queues
    assert (there.switch, there.neighbour, there.kind) == ("s1", "s2", kind)
    assert (there.drop_aqm, there.marked_packets) == (last["drop_aqm"], 0)
    assert (back.switch, back.drop_aqm) == ("s2", 0)


def test_droptail_of_the_same_length_stands_ten_times_longer(tmp_path: Path) -> None:
    run = run_with(tmp_path, "kind: droptail, packets: 10240")
    assert standing_delay(run) > 0.15
    assert "drop_aqm" not in bottleneck(run)[-1]
    assert "marked_packets" not in bottleneck(run)[-1]
    assert run.summary.queues == []


@pytest.mark.parametrize(("kind", "spared"), [("fq_codel", True), ("codel", False), ("pie", False), ("dualpi2", False)])
def test_only_fq_codel_spares_a_flow_beside_a_flood(tmp_path: Path, kind: str, spared: bool) -> None:
    run = run_with(tmp_path, f"kind: {kind}, packets: 300", "udp, rate: 30 Mbps")
    flood, sparse = goodputs(run)
    assert flood > 7e6
    assert (sparse > 0.99 * 400e3) if spared else (sparse < 0.6 * 400e3)


def test_a_queues_choices_come_from_the_seed(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = (run_with(tmp_path / name, "kind: pie") for name in ("one", "other"))
    assert one.series("ports") == other.series("ports")
