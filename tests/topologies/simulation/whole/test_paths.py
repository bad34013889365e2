"""Paths that change, reorder, duplicate, or refuse what is too long, in virtual time."""

from pathlib import Path
from statistics import mean

import pytest

from tests.topologies.simulation.runs import Run, session, simulate, tree

NETWORK = """\
name: paths
seed: 2
duration: 20 s
nodes:
  s1: {kind: %s}
  s2: {kind: %s}
  a: {kind: host}
  b: {kind: host}
links:
  - {between: [a, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [s1, s2], rate: 8 Mbps, delay: 10 ms%s}
  - {between: [s2, b], rate: 100 Mbps, delay: 1 ms}
traffic:
  - {kind: udp, source: a, destination: b, rate: 6 Mbps, packet: 1000 B}
"""
BOTH = pytest.mark.parametrize("node", ["p4", "router"])
SENT_RATE = 6e6 * 1042 / 1000
"""Bit/s of frames."""


def ports(run: Run, switch: str, neighbour: str) -> list[dict[str, float]]:
    return [row for row in run.series("ports") if (row["switch"], row["neighbour"]) == (switch, neighbour)]


def rate(rows: list[dict[str, float]], since: float, until: float) -> float:
    inside = [row for row in rows if since <= row["t"] <= until]
    return (inside[-1]["tx_bytes"] - inside[0]["tx_bytes"]) * 8 / (inside[-1]["t"] - inside[0]["t"])


@BOTH
def test_a_links_rate_and_delay_change_together_and_stay(tmp_path: Path, node: str) -> None:
    faults = (
        "faults:\n"
        "  - {kind: link-rate, at: 5 s, link: [s2, s1], rate: 2 Mbps}\n"
        "  - {kind: link-delay, at: 8 s, link: [s1, s2], delay: 100 ms}\n"  # the rate stays
        "  - {kind: link-rate, at: 12 s, link: [s1, s2], rate: 8 Mbps}\n"
    )
    run = simulate(tmp_path / "run", NETWORK % (node, node, "") + faults)
    rows = ports(run, "s1", "s2")
    assert rate(rows, 1, 5) == pytest.approx(SENT_RATE, rel=0.01)
    assert rate(rows, 5.25, 8) == pytest.approx(2e6, rel=0.01)
    assert rate(rows, 8.25, 12) == pytest.approx(2e6, rel=0.01)
    assert rate(rows, 13, 20) == pytest.approx(SENT_RATE, rel=0.01)
    events = [(row["t"], row["kind"], row["subject"]) for row in run.series("events")]
    assert events == [
        (5.0, "link rate", "s2 - s1: 2 Mbps"),
        (8.0, "link delay", "s1 - s2: 100 ms"),
        (12.0, "link rate", "s1 - s2: 8 Mbps"),
    ]


@BOTH
def test_frames_are_late_or_come_twice(tmp_path: Path, node: str) -> None:
    link = ", reorder: {probability: 10 %, delay: 20 ms}, duplicate: 5 %"
    run = simulate(tmp_path / "run", NETWORK % (node, node, link))
    there, behind = ports(run, "s1", "s2")[-1], ports(run, "s2", "b")[-1]
    assert there["reordered_packets"] == pytest.approx(0.1 * there["tx_packets"], rel=0.1)
    assert there["duplicated_packets"] == pytest.approx(0.05 * there["tx_packets"], rel=0.15)
    assert behind["tx_packets"] == pytest.approx(there["tx_packets"] + there["duplicated_packets"], abs=50)
    assert "reordered_packets" not in behind
    # Throughput is the link's, though some are under way for longer: nobody waits behind a late one.
    assert rate(ports(run, "s1", "s2"), 1, 19) == pytest.approx(SENT_RATE, rel=0.01)
    waiting = mean(row["queue_packets"] for row in ports(run, "s1", "s2"))
    assert waiting < 1


@BOTH
def test_what_is_longer_than_the_mtu_is_dropped_and_counted(tmp_path: Path, node: str) -> None:
    # 1,000 bytes of payload are an IP packet of 1,028.
    for mtu, passes in ((1028, True), (1027, False)):
        run = simulate(tmp_path / f"run-{mtu}", NETWORK % (node, node, f", mtu: {mtu} B"))
        last = ports(run, "s1", "s2")[-1]
        assert (last["drop_mtu"] == 0) == passes
        assert (last["tx_packets"] > 10_000) == passes
        assert last["drop_mtu"] + last["tx_packets"] > 10_000


def test_a_transfer_gets_through_all_of_it(tmp_path: Path) -> None:
    text = tree(", reorder: {probability: 2 %, delay: 15 ms}, duplicate: 2 %, loss: 1 %") + session("1 MB")
    run = simulate(tmp_path / "run", text)
    assert run.summary.ok
