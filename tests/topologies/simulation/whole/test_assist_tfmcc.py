"""TFMCC with and without switches that suppress reports, over real P4 switches in virtual time."""

from pathlib import Path
from typing import Any

from tests.topologies.simulation.runs import Run, simulate

FAN_OUT = 11
CONGESTED_AT = 15.0


def scenario(receivers: int, assist: str) -> str:
    """Everybody is behind one bottleneck that UDP takes four fifths of from CONGESTED_AT on."""
    hosts = [f"r{index}" for index in range(receivers)]
    edges = -(-receivers // FAN_OUT)
    switches = ("s0", "s1", *(f"e{index}" for index in range(edges)))
    lines = [f"  {name}: {{kind: p4}}" for name in switches]
    lines += [f"  {name}: {{kind: host}}" for name in ("sender", "u", "v", *hosts)]
    links = [
        "  - {between: [sender, s0], rate: 100 Mbps, delay: 1 ms}",
        "  - {between: [u, s0], rate: 100 Mbps, delay: 1 ms}",
        "  - {between: [s1, v], rate: 100 Mbps, delay: 1 ms}",
        "  - {between: [s0, s1], rate: 2 Mbps, delay: 10 ms, queue: {kind: droptail, packets: 50}}",
    ]
    links += [f"  - {{between: [s1, e{index}], rate: 100 Mbps, delay: 5 ms}}" for index in range(edges)]
    for index, host in enumerate(hosts):
        delay = 1 + index * 37 % 60
        links.append(f"  - {{between: [e{index // FAN_OUT}, {host}], rate: 50 Mbps, delay: {delay} ms}}")
    return "\n".join(
        (
            "name: suppressing\nseed: 1\nduration: 22 s\nsimulation: {trace: 50 ms}\nnodes:",
            *lines,
            "links:",
            *links,
            "sessions:",
            "  - {id: 1, protocol: tfmcc, sender: sender, group: 232.1.0.1, port: 5001, realtime: true,",
            f"     assist: {assist}, parameters: {{rules: paper, payload_bytes: 900, initial_rtt_s: 0.2}},",
            f"     receivers: [{', '.join(hosts)}]}}",
            "traffic:",
            "  - {kind: udp, source: u, destination: v, rate: 1.6 Mbps, packet: 1000 B,",
            f"     start: {CONGESTED_AT:g} s}}",
        )
    )


def rows(run: Run) -> list[dict[str, Any]]:
    """The sender's, from its first round on."""
    return [row for row in run.series("session-1-sender") if row.get("round")]


def halved_after(run: Run) -> float:
    """Seconds from the congestion's begin until the sending rate is half of what it was."""
    found = rows(run)
    before = [row for row in found if row["t"] <= CONGESTED_AT][-1]["allowed_bps"]
    return float(
        next(row["t"] for row in found if row["t"] > CONGESTED_AT and row["allowed_bps"] <= before / 2) - CONGESTED_AT
    )


def all_measured_after(run: Run) -> float:
    """Seconds until the sender has heard of every receiver's first measurement."""
    return float(next(row["t"] for row in rows(run) if row["first_rtts"] == 33))


def busiest_round(run: Run) -> int:
    """The most reports of others than the CLR in one round."""
    return max(int(row["round_reports"]) for row in rows(run))


def test_a_handful_of_reports_a_round_sooner_measurements_and_a_prompt_reaction(tmp_path: Path) -> None:
    """How soon the rate falls is the CLR's doing, which is congested as all are and reports at once."""
    plain, suppressed = (simulate(tmp_path / assist, scenario(33, assist)) for assist in ("none", "switch"))
    last = rows(suppressed)[-1]
    # Ten requests for a first RTT may pass in a round, and the CLR reports once a round trip.
    assert last["feedback_packets"] < 16 * last["round"]
    assert busiest_round(suppressed) <= 16
    assert all_measured_after(suppressed) < all_measured_after(plain)
    assert halved_after(suppressed) < 2.0
