"""RLA with and without switches that merge acknowledgments, over real P4 switches in virtual time."""

from pathlib import Path

import pytest

from tests.topologies.simulation.runs import Run, scenario_text, simulate

HOSTS_AT_AN_EDGE = 9


def scenario(receivers: int, assist: str, loss: str, rules: str) -> str:
    """sender - s0 - edge switches, each behind a bottleneck of its own - receivers; every fourth of them lossy."""
    hosts = [f"r{index}" for index in range(receivers)]
    edges = -(-receivers // HOSTS_AT_AN_EDGE)
    switches = ("s0", *(f"e{index}" for index in range(edges)))
    queue = "queue: {kind: droptail, packets: 20}"
    links = ["[sender, s0], rate: 100 Mbps, delay: 1 ms"]
    links += [f"[s0, e{index}], rate: 4 Mbps, delay: {5 + index} ms, {queue}" for index in range(edges)]
    for index, host in enumerate(hosts):
        lossy = loss if index % 4 == 1 else ""
        edge, delay = index // HOSTS_AT_AN_EDGE, 1 + index * 7 % 13
        links.append(f"[e{edge}, {host}], rate: 50 Mbps, delay: {delay} ms{lossy}")
    return scenario_text(
        "name: merging\nseed: 1\nduration: 60 s",
        dict.fromkeys(switches, "p4") | dict.fromkeys(("sender", *hosts), "host"),
        links,
        "sessions:",
        "  - {id: 1, protocol: rla, sender: sender, group: 232.1.0.1, port: 5001, size: 1 MB,",
        f"     assist: {assist}, parameters: {{rules: {rules}}}, receivers: [{', '.join(hosts)}]}}",
    )


def goodput_bps(run: Run) -> float:
    """The slowest receiver's."""
    return min(float(receiver.goodput_bps or 0) for receiver in run.summary.sessions[0].receivers)


@pytest.mark.parametrize("loss", ["", ", loss: 1 %"])
def test_acknowledgments_merge_and_nothing_else_changes(tmp_path: Path, loss: str) -> None:
    """By the paper's rules, by which every packet has an answer of everybody."""
    runs = {assist: simulate(tmp_path / assist, scenario(18, assist, loss, "paper")) for assist in ("none", "switch")}
    assert all(run.summary.ok for run in runs.values())
    plain, merging = (run.sender() for run in runs.values())
    assert plain["feedback_packets"] > 14 * plain["data_packets"]
    assert merging["feedback_packets"] < 0.3 * plain["feedback_packets"]
    # But for reports of holes and samples the sender's switch makes one of all.
    assert merging["summaries"] < 1.1 * (merging["data_packets"] + merging["repair_packets"])
    assert plain["summaries"] == plain["hole_reports"] == 0
    assert goodput_bps(runs["switch"]) > 0.85 * goodput_bps(runs["none"])
    assert merging["window_timeouts"] == 0
    if loss:  # without it everybody loses the same few times at the full queues, as chance has it
        assert merging["congestion_signals"] == pytest.approx(plain["congestion_signals"], rel=0.35)
        assert merging["repair_packets"] == pytest.approx(plain["repair_packets"], rel=0.35)


def test_by_the_default_rules_merging_costs_nothing(tmp_path: Path) -> None:
    """Though receivers whose answers nobody merges answer seldom, and the others every packet."""
    runs = {assist: simulate(tmp_path / assist, scenario(18, assist, "", "tcp")) for assist in ("none", "switch")}
    assert all(run.summary.ok for run in runs.values())
    merging = runs["switch"].sender()
    assert merging["summaries"] < 1.1 * (merging["data_packets"] + merging["repair_packets"])
    assert merging["window_timeouts"] == 0
    assert goodput_bps(runs["switch"]) > 0.85 * goodput_bps(runs["none"])
