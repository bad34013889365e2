"""MTCP with and without switches that merge feedback, over real P4 switches in virtual time."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.topologies.simulation.runs import Run, scenario_text, simulate

FAN_OUT = 11
"""Hosts on one edge switch: with the uplink the twelve ports that need no groups of their own."""


def scenario(receivers: int, assist: str, *, size: str, loss: str = "", faults: str = "") -> str:
    """A one-level logical tree over a physical one: sender - s0 - two middle switches - edge switches - receivers."""
    hosts = [f"r{index}" for index in range(receivers)]
    edges = -(-receivers // FAN_OUT)
    switches = ("s0", "m0", "m1", *(f"e{index}" for index in range(edges)))
    queue = "queue: {kind: droptail, packets: 200}"
    links = [f"[sender, s0], rate: 100 Mbps, delay: 1 ms, {queue}"]
    links += [f"[s0, m{index}], rate: 10 Mbps, delay: 5 ms, {queue}" for index in (0, 1)]
    links += [f"[m{index % 2}, e{index}], rate: 20 Mbps, delay: {2 + index % 4} ms" for index in range(edges)]
    for index, host in enumerate(hosts):
        lossy = loss if index % 10 == 3 else ""
        delay = 1 + index * 7 % 13
        links.append(f"[e{index // FAN_OUT}, {host}], rate: 50 Mbps, delay: {delay} ms{lossy}")
    return scenario_text(
        "name: merging\nseed: 1\nduration: 60 s",
        dict.fromkeys(switches, "p4") | dict.fromkeys(("sender", *hosts), "host"),
        links,
        "sessions:",
        f"  - {{id: 1, protocol: mtcp, sender: sender, group: 232.1.0.1, port: 5001, size: {size},",
        f"     assist: {assist}, tree: one-level, slow_receivers: {{drop_after: 3 s}},",
        f"     receivers: [{', '.join(hosts)}]}}",
        faults,
    )


def feedback_per_data(run: Run) -> float:
    row = run.sender()
    return float(row["feedback_packets"] / row["data_packets"])


def goodputs(run: Run) -> list[float]:
    return sorted(float(receiver.goodput_bps or 0) for receiver in run.summary.sessions[0].receivers)


def test_feedback_stays_flat(tmp_path: Path) -> None:
    with_merging: list[float] = []
    without: list[float] = []
    for receivers in (1, 10, 40):
        for assist, found in (("switch", with_merging), ("none", without)):
            run = simulate(tmp_path / f"{receivers}-{assist}", scenario(receivers, assist, size="300 kB"))
            assert run.summary.ok
            found.append(feedback_per_data(run))
    assert max(with_merging) < 1.2
    assert without[1] > 5 * without[0]
    assert without[2] > 2.5 * without[1]


@pytest.mark.parametrize("loss", ["", ", loss: 1 %"])
def test_rates_windows_and_repairs_are_those_without(tmp_path: Path, loss: str) -> None:
    runs = {
        assist: simulate(tmp_path / assist, scenario(10, assist, size="2500 kB", loss=loss))
        for assist in ("none", "switch")
    }
    plain, merging = (run.sender() for run in runs.values())
    assert goodputs(runs["switch"])[0] == pytest.approx(goodputs(runs["none"])[0], rel=0.1)
    assert merging["repair_packets"] == pytest.approx(plain["repair_packets"], abs=3 + 0.1 * plain["repair_packets"])
    windows = [[row["cwnd"] for row in run.series("session-1-sender") if row.get("cwnd")] for run in runs.values()]
    means = [sum(values) / len(values) for values in windows]
    assert means[1] == pytest.approx(means[0], rel=0.15)


FAULTS = """\
faults:
  - {kind: switch-restart, at: 1 s, switch: e0, outage: 100 ms}
  - {kind: receiver-dies, at: 2 s, session: 1, host: r15}
"""


def longest_pause(run: Run) -> float:
    """Of new data, seconds; while there is something to send."""
    rows = [row for row in run.series("session-1-sender") if row.get("sent_bytes")]
    pauses, since, before = [0.0], rows[0]["t"], rows[0]["sent_bytes"]
    for row in rows:
        if row["sent_bytes"] > before:
            pauses.append(row["t"] - since)
            since, before = row["t"], row["sent_bytes"]
    return max(pauses)


def test_a_restart_and_a_silent_child_stall_nobody_longer_than_without(tmp_path: Path) -> None:
    runs = {
        assist: simulate(tmp_path / assist, scenario(20, assist, size="2500 kB", faults=FAULTS))
        for assist in ("none", "switch")
    }
    for run in runs.values():
        receivers = {receiver.host: receiver.complete for receiver in run.summary.sessions[0].receivers}
        assert receivers.pop("r15") is False
        assert all(receivers.values())
    assert longest_pause(runs["switch"]) <= longest_pause(runs["none"]) + 1.0
    assert feedback_per_data(runs["switch"]) < 1.2


def unheard(run: Run, hosts: list[str], since: float, until: float) -> float:
    """For how long on end, at most, no progress was heard of one of these that had something to acknowledge."""
    rows = [row for row in run.series("session-1-sender") if since <= row.get("t", -1.0) <= until]
    assert rows
    assert rows[-1]["t"] > until - 0.1
    addresses = {receiver.host: receiver.address for receiver in run.summary.sessions[0].receivers}
    longest = 0.0
    for host in hosts:
        heard_at, before = rows[0]["t"], -1
        for row in rows:
            acked = row["receivers"][addresses[host]]["acked_bytes"]
            if acked > before or acked >= row["sent_bytes"]:
                heard_at, before = row["t"], acked
            longest = max(longest, row["t"] - heard_at)
    return longest


FALLBACK_S = 1.0
OUTAGE_S = 0.1


@pytest.mark.parametrize(
    ("fault", "hosts", "since"),
    [
        # Behind e0, from when it works again.
        (f"kind: switch-restart, at: 1.2 s, switch: e0, outage: {OUTAGE_S} s", range(FAN_OUT), 1.2 + OUTAGE_S),
        # The others behind e1.
        ("kind: receiver-dies, at: 1.2 s, session: 1, host: r15", [11, 12, 13, 14, 16, 17, 18, 19], 1.2),
    ],
)
def test_a_switch_falls_back_within_a_second(tmp_path: Path, fault: str, hosts: Sequence[int], since: float) -> None:
    faults = f"faults:\n  - {{{fault}}}\nsimulation: {{trace: 20 ms}}\n"
    run = simulate(tmp_path, scenario(20, "switch", size="3 MB", faults=faults), until=since + 1.6)
    names = [f"r{index}" for index in hosts]
    merged = unheard(run, names, since - 0.6, since - 0.2)
    assert merged < 0.2, "progress is heard of all the time"
    assert merged < unheard(run, names, since, since + 1.5) < FALLBACK_S


def beside_three(assist: str) -> str:
    """Four receivers over long links of their own behind one bottleneck, on which three TCPs are as well."""
    queue = "queue: {kind: droptail, packets: 30}"
    links = ["[sender, s0], rate: 100 Mbps, delay: 1 ms", f"[s0, s1], rate: 4 Mbps, delay: 5 ms, {queue}"]
    links += [f"[s1, r{number}], rate: 100 Mbps, delay: {50 + 5 * number} ms" for number in range(4)]
    hosts, traffic = ["sender", *(f"r{number}" for number in range(4))], []
    for number in range(3):
        ends = f"a{number}", f"b{number}"
        hosts += ends
        links += [f"[{ends[0]}, s0], rate: 100 Mbps, delay: 1 ms", f"[s1, {ends[1]}], rate: 100 Mbps, delay: 50 ms"]
        flow = f"kind: tcp, source: {ends[0]}, destination: {ends[1]}, congestion_control: reno"
        traffic.append(f"  - {{{flow}, start: {1 + 0.3 * number:.1f} s}}")
    return scenario_text(
        "name: beside-three\nseed: 1\nduration: 14 s",
        dict.fromkeys(("s0", "s1"), "p4") | dict.fromkeys(hosts, "host"),
        links,
        "sessions:",
        "  - {id: 1, protocol: mtcp, sender: sender, group: 232.1.0.1, port: 5001, endless: true,",
        f"     assist: {assist}, tree: one-level, receivers: [r0, r1, r2, r3]}}",
        "traffic:",
        *traffic,
    )


def test_merging_costs_nothing_beside_tcps_and_over_long_links(tmp_path: Path) -> None:
    """A delay that is merged must not look longer than it is to each: it would, if summaries carried the largest of old
    samples, and the session would have a third of a fair share."""
    rates = {}
    for assist in ("none", "switch"):
        rows = simulate(tmp_path / assist, beside_three(assist)).series("session-1-r0")
        settled = [row for row in rows if row.get("t", 0.0) > 6.0]
        first, last = settled[0], settled[-1]
        rates[assist] = (last["received_bytes"] - first["received_bytes"]) * 8 / (last["t"] - first["t"])
    assert rates["switch"] > 0.85 * rates["none"]
    assert rates["switch"] > 0.6 * 4e6 / 4
