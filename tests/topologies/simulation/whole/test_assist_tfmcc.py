"""TFMCC with and without switches that help, by the default's rules, over real P4 switches in virtual time."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hosts.endpoint import Datagram
from hosts.protocols.tfmcc.packets import Report, parse
from hosts.protocols.tfmcc.sender import TfmccSender
from hosts.wire.header import PacketError
from tests.topologies.simulation.runs import Run, scenario_text, simulate

FAN_OUT = 14
PORTS = 16
JOINED_AT = 4.0
CONGESTED_AT = 5.0
FIRST_ROUND_S = 2.0
"""T with the initial RTT of 0.5 s."""


def scenario(receivers: int, assist: str, seconds: float) -> str:
    """A tree of switches behind one bottleneck that UDP takes four fifths of from CONGESTED_AT on. The last receiver
    joins at JOINED_AT."""
    hosts = [f"r{index}" for index in range(receivers)]
    links = [
        "[sender, s0], rate: 100 Mbps, delay: 1 ms",
        "[u, s0], rate: 100 Mbps, delay: 1 ms",
        "[s1, v], rate: 100 Mbps, delay: 1 ms",
        "[s0, s1], rate: 2 Mbps, delay: 10 ms, queue: {kind: droptail, packets: 50}",
    ]
    switches = ["s0", "s1"]
    below, level = hosts, 0
    while below:
        parents = ["s1"]
        if len(below) > FAN_OUT:
            parents = [f"e{level}x{index}" for index in range(-(-len(below) // FAN_OUT))]
            switches += parents
        for index, name in enumerate(below):
            delay = 1 + index * 37 % 40
            links.append(f"[{parents[index // FAN_OUT]}, {name}], rate: 50 Mbps, delay: {delay} ms")
        below, level = parents if parents != ["s1"] else [], level + 1
    members = ", ".join([*hosts[:-1], f"{{host: {hosts[-1]}, join: {JOINED_AT:g} s}}"])
    return scenario_text(
        f"name: suppressing\nseed: 1\nduration: {seconds:g} s\nsimulation: {{trace: 50 ms, traces: 1001}}",
        dict.fromkeys(("sender", "u", "v", *hosts), "host") | dict.fromkeys(switches, "p4"),
        links,
        "sessions:",
        "  - {id: 1, protocol: tfmcc, sender: sender, group: 232.1.0.1, port: 5001, realtime: true,",
        f"     assist: {assist}, parameters: {{payload_bytes: 900}}, receivers: [{members}]}}",
        "traffic:",
        "  - {kind: udp, source: u, destination: v, rate: 1.6 Mbps, packet: 1000 B,",
        f"     start: {CONGESTED_AT:g} s}}",
    )


@pytest.fixture
def arrivals(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """Reports at the sender of others than the CLR, by the round that they arrive in, believed or not."""
    rounds: Counter[int] = Counter()
    receive = TfmccSender.receive

    def counting(self: TfmccSender, datagram: Datagram, *, now: float) -> Any:
        try:
            packet = parse(datagram.data)
        except PacketError:
            packet = None
        clr = self.steering.clr
        if isinstance(packet, Report) and (clr is None or clr.receiver != packet.receiver):
            rounds[self.steering.rounds.number] += 1
        return receive(self, datagram, now=now)

    monkeypatch.setattr(TfmccSender, "receive", counting)
    return rounds


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


def measured_after(run: Run, receiver: int) -> float:
    """Seconds from a receiver's first packet until it has measured its round trip time."""
    found = [row for row in run.series(f"session-1-r{receiver}") if row.get("data_packets")]
    return float(next((row["t"] for row in found if row["has_rtt"]), 1e9) - found[0]["t"])


def test_few_reports_a_round_round_trip_times_at_once_and_a_prompt_reaction(
    tmp_path: Path, arrivals: Counter[int]
) -> None:
    receivers = 33
    plain = simulate(tmp_path / "none", scenario(receivers, "none", 8.0))
    without = Counter(arrivals)
    arrivals.clear()
    helped = simulate(tmp_path / "switch", scenario(receivers, "switch", 8.0))
    assert max(arrivals.values()) <= PORTS < max(without.values())
    assert sum(arrivals.values()) < sum(without.values()) / 2
    early = range(receivers - 1)
    assert max(measured_after(helped, number) for number in early) < FIRST_ROUND_S / 2
    assert max(measured_after(plain, number) for number in early) > FIRST_ROUND_S
    # Who joins later has it with its first packet: all but the way to the next switch, and that a moment later.
    assert measured_after(helped, receivers - 1) <= 0.1
    assert halved_after(helped) < 2.0  # that is the CLR's doing, which is congested as all are and reports at once


@pytest.mark.parametrize(("receivers", "seconds"), [(10, 4.0), (100, 3.0), (1000, 1.2)])
def test_at_the_start_nobody_floods_the_sender_and_everybody_has_an_rtt(
    tmp_path: Path, arrivals: Counter[int], receivers: int, seconds: float
) -> None:
    """A thousand receivers take ten seconds of a processor: that their number does not count is what is to be shown."""
    run = simulate(tmp_path / "run", scenario(receivers, "switch", seconds))
    assert 1 <= max(arrivals.values()) <= PORTS
    assert max(measured_after(run, number) for number in range(receivers - 1)) < FIRST_ROUND_S / 2
