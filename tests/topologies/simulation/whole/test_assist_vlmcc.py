"""VLMCC's followers that lose capacity at once, over real P4 switches in virtual time."""

from pathlib import Path
from typing import Any

from tests.topologies.simulation.runs import Run, scenario_text, simulate

FOLLOWERS = 24
FAN_OUT = 12
CONGESTED_AT = 8.0


def scenario(assist: str, challenges_per_rtt: float) -> str:
    """`lead` has a slow link of its own; all others are behind one that UDP takes most of from CONGESTED_AT on."""
    hosts = [f"r{index}" for index in range(FOLLOWERS)]
    edges = FOLLOWERS // FAN_OUT
    switches = ("s0", "s1", *(f"e{index}" for index in range(edges)))
    links = [
        "[sender, s0], rate: 10 Mbps, delay: 1 ms",
        "[u, s0], rate: 10 Mbps, delay: 1 ms",
        "[s1, v], rate: 10 Mbps, delay: 1 ms",
        "[s0, lead], rate: 400 kbps, delay: 20 ms, queue: {kind: droptail, packets: 15}",
        "[s0, s1], rate: 1 Mbps, delay: 10 ms, queue: {kind: droptail, packets: 15}",
        *(f"[s1, e{index}], rate: 10 Mbps, delay: 1 ms" for index in range(edges)),
    ]
    for index, host in enumerate(hosts):
        links.append(f"[e{index // FAN_OUT}, {host}], rate: 10 Mbps, delay: {1 + index * 37 % 60} ms")
    receivers = ", ".join(f"{{host: {host}, join: {0.1 * index + 1:.1f} s}}" for index, host in enumerate(hosts))
    return scenario_text(
        "name: challenging\nseed: 1\nduration: 13 s\nsimulation: {trace: 50 ms}",
        dict.fromkeys(switches, "p4") | dict.fromkeys(("sender", "lead", "u", "v", *hosts), "host"),
        links,
        "sessions:",
        "  - {id: 1, protocol: vlmcc, sender: sender, group: 232.5.0.1, port: 5001, realtime: true,",
        f"     assist: {assist}, parameters: {{payload_bytes: 914, challenges_per_rtt: {challenges_per_rtt:g}}},",
        f"     receivers: [lead, {receivers}]}}",
        "traffic:",
        "  - {kind: udp, source: u, destination: v, rate: 850 kbps, packet: 1000 B,",
        f"     start: {CONGESTED_AT:g} s}}",
    )


def rows(run: Run) -> list[dict[str, Any]]:
    """The sender's, from its first leader on."""
    return [row for row in run.series("session-1-sender") if row.get("leader")]


def heard(run: Run) -> int:
    """Challenges since the congestion."""
    found = rows(run)
    return int(found[-1]["challenges"] - [row for row in found if row["t"] <= CONGESTED_AT][-1]["challenges"])


def changed_after(run: Run) -> float:
    """Seconds from the congestion until there is another leader."""
    found = rows(run)
    lead = [row["leader"] for row in found if row["t"] <= CONGESTED_AT][-1]
    return float(next(row["t"] for row in found if row["t"] > CONGESTED_AT and row["leader"] != lead) - CONGESTED_AT)


def test_few_challenges_and_a_prompt_change(tmp_path: Path) -> None:
    at_once = simulate(tmp_path / "at-once", scenario("none", 0))
    switches = simulate(tmp_path / "switches", scenario("switch", 6))
    assert heard(at_once) >= FOLLOWERS / 2
    assert 1 <= heard(switches) <= 0.6 * heard(at_once)
    assert changed_after(switches) <= changed_after(at_once) + 0.3
