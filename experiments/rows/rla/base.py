"""The networks of RLA's experiments: the paper's four-level tertiary tree (5, Fig. 6), and what is measured in them.

"Ours" marks what the paper's text does not say (or lost); it is the same in all rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.harness.measures import flow_goodput, seconds_of, trace
from experiments.harness.row import Document
from experiments.harness.runs import Finished
from hosts.protocols.rla.packets import ACK

PAPER = "rla"
PACKET_BYTES = 1000
"""5: the data packet, here with all its headers, as ns-2's."""
HEADERS_BYTES = 42
"""Ethernet, IPv4 and UDP."""
PAYLOAD_BYTES = 922
"""Of RLA's: 1,000 less its headers and RLA's own 36."""
PACKET_BITS = 8 * PACKET_BYTES
FAST_BPS = 100_000_000
FAST = f"{FAST_BPS} bps"
TCP_ACK_BYTES = 54
"""Of the simulator's TCP: Ethernet, IPv4 and TCP."""
_NS_ACK_BYTES = 40
"""Of ns-2's TCP and, so we read it, of the paper's receivers."""
_LAST_ACK, _LEVELS = 30, 4
"""The last of 27 acknowledgments to one packet is through the tree after the times of so many: of the one on its own
link, of one on each of two links on, and of 27 on the uppermost. A TCP's takes one on each link."""
UPWARD_BPS = (
    FAST_BPS
    * (_LAST_ACK * (HEADERS_BYTES + ACK.size) - _LEVELS * TCP_ACK_BYTES)
    / ((_LAST_ACK - _LEVELS) * _NS_ACK_BYTES)
)
UPWARD = f"{UPWARD_BPS:.0f} bps"
"""Ours: no link is a bottleneck for acknowledgments, and those of 27 receivers to one packet take longer than a TCP's
by as much as acknowledgments of 40 bytes at 100 Mbps would, 83 us (ours have 150 bytes, so it is 412 Mbps). That
matters: RLA's round trip ends with the last of them, and a round trip longer than the competitors' by a part of a
packet's time at the bottleneck (0.36 ms in case 1) is enough for a phase effect (experiments/results/NOTES.md)."""
DELAYS = {1: "5 ms", 2: "5 ms", 3: "5 ms", 4: "100 ms"}
"""5: one way, by level."""
FAN_OUT = 3
RECEIVERS = FAN_OUT**3
_SKIPPED_S = 100.0
"""5: statistics are collected after the first 100 s; of a quick run after its first quarter."""
GROUP = "232.4.0.{}"
DROPTAIL: Mapping[str, Any] = {"kind": "droptail", "packets": 20}
RED: Mapping[str, Any] = {
    "kind": "red",
    "packets": 20,
    "min_threshold": 5,
    "max_threshold": 15,
    "weight": 0.002,
    "max_probability": 0.1,
    "gentle": False,
}
"""5: thresholds 5 and 15, else ns-2.0's defaults (q_weight 0.002, linterm 10, no gentle RED)."""


RESTRICTED: Mapping[str, Any] = {"payload_bytes": PAYLOAD_BYTES, "rules": "paper", "rtt_exponent": 0.0}
"""3.3's rule, of which all of the paper's results are but those with different round trip times (5.3)."""
GENERALIZED: Mapping[str, Any] = {**RESTRICTED, "rtt_exponent": 2.0}
"""5.3: the probability of a cut times (rtt / rtt_max)^2."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """Where it is: the links of one level (the first `links` of them), packets per second of each."""

    level: int
    rate: int
    links: int

    @property
    def service_s(self) -> float:
        """Time of one packet on it."""
        return 1 / self.rate


CASES: Mapping[str, Bottleneck] = {
    "case 1": Bottleneck(1, 2800, 1),
    "case 2": Bottleneck(2, 1000, 3),
    "case 3": Bottleneck(4, 200, 27),
    "case 4": Bottleneck(4, 200, 5),
    "case 5": Bottleneck(2, 1000, 1),
}
"""Ours, by case: each leaves 100 packets/s a flow on its soft bottleneck."""


def _nodes() -> Iterator[tuple[int, str, str]]:
    """(level of the link, upper end, lower end) of every link of the tree, level by level; hosts are g4x."""
    yield 1, "root", "g1"
    uppers = ["g1"]
    for level in (2, 3, 4):
        lowers = []
        for number, upper in enumerate(upper for upper in uppers for _ in range(FAN_OUT)):
            lowers.append(f"g{level}x{number}")
            yield level, upper, lowers[-1]
        uppers = lowers


def tree(
    bottleneck: Bottleneck,
    queue: Mapping[str, Any],
    *,
    name: str,
    seconds: float,
    sessions: int = 1,
    gateways: bool = False,
    parameters: Mapping[str, Any] = RESTRICTED,
) -> Document:
    """The tertiary tree with one TCP to each receiver and RLA to all of them. `gateways`: G31 to G39 receive too (5.3).

    With DropTail every sender, RLA's and the TCPs' alike, takes a random time for each packet, up to the service time
    of the slowest link on its way (3.1): with more, a TCP whose way has no bottleneck would be one itself. At the
    receivers it would not be random for RLA: the longest of 27 is nearly the same each time.
    """

    def sender(service_s: float) -> dict[str, Any]:
        """`service_s`: of the slowest link."""
        node: dict[str, Any] = {"kind": "host"}
        return node | {"sending": {"most": f"{1e6 * service_s:.0f} us"}} if queue["kind"] == "droptail" else node

    nodes: dict[str, Any] = {"root": {"kind": "router"}}
    links: list[dict[str, Any]] = []
    receivers: list[str] = []
    behind: set[str] = set()  # nodes whose way from the root has a bottleneck
    placed = 0
    access = {"rate": "1 Gbps", "delay": "0 s", "queue": {"kind": "droptail", "packets": 1000}}
    for level, upper, lower in _nodes():
        is_bottleneck = level == bottleneck.level and placed < bottleneck.links
        placed += is_bottleneck
        if is_bottleneck or upper in behind:
            behind.add(lower)
        rate = bottleneck.rate * PACKET_BITS if is_bottleneck else FAST_BPS
        nodes[lower] = {"kind": "host" if level == 4 else "router"}
        links.append(
            {
                "between": [upper, lower],
                "rate": f"{rate} bps",
                "delay": DELAYS[level],
                "queue": dict(queue),
                "toward": {upper: {"rate": UPWARD}},
            }
        )
        if level == 4:
            receivers.append(lower)
        elif level == 3 and gateways:
            nodes[f"r{lower}"] = {"kind": "host"}
            links.append({"between": [lower, f"r{lower}"], **access})
            receivers.append(f"r{lower}")
    for number in range(sessions):
        nodes[f"s{number}"] = sender(bottleneck.service_s)
        links.append({"between": [f"s{number}", "root"], **access})
    for number, receiver in enumerate(receivers):
        way = receiver.removeprefix("r")  # a gateway's own receiver is where the gateway is
        nodes[f"t{number}"] = sender(bottleneck.service_s if way in behind else PACKET_BITS / FAST_BPS)
        links.append({"between": [f"t{number}", "root"], **access})
    return {
        "name": name,
        "duration": f"{seconds:g} s",
        "simulation": {"trace": "1 s", "sample": "10 s"},
        "nodes": nodes,
        "links": links,
        **senders_and_tcps(sessions, receivers, parameters),
    }


def senders_and_tcps(sessions: int, receivers: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario sends: sessions from s0, s1, ... to all receivers, and from t0, t1, ... a TCP to each."""
    tcp = {
        "kind": "tcp",
        "congestion_control": "sack",
        "start": "0 s",
        "simulated": {"packet": f"{PACKET_BYTES} B", "delayed_ack": "0 s", "initial_window": 1},
    }
    return {
        "sessions": [
            {
                "id": number + 1,
                "protocol": PAPER,
                "sender": f"s{number}",
                "group": GROUP.format(number + 1),
                "port": 5001 + number,
                "endless": True,
                "receivers": list(receivers),
                "parameters": dict(parameters),
            }
            for number in range(sessions)
        ],
        "traffic": [
            {**tcp, "source": f"t{number}", "destination": receiver} for number, receiver in enumerate(receivers)
        ],
    }


def skipped_s(run: Finished) -> float:
    """Seconds of a run that do not count."""
    return min(_SKIPPED_S, seconds_of(run) / 4)


def settled(run: Finished, number: int = 0) -> list[dict[str, Any]]:
    """The rows of a session's sender's trace that count."""
    return [row for row in trace(run, number, "sender") if row["t"] >= skipped_s(run)]


def mean_of(run: Finished, column: str, number: int = 0) -> float:
    """Mean of a column of a session's sender's trace over the measured time."""
    values = [row[column] for row in settled(run, number) if row.get(column) is not None]
    return math.fsum(values) / len(values) if values else math.nan


def _ends(run: Finished, rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first and the last of rows. ValueError when there are no two."""
    if len(rows) < 2:
        raise ValueError(f"the run ended before {skipped_s(run):g} s")
    return rows[0], rows[-1]


def rla_throughput(run: Finished, number: int = 0) -> float:
    """Packets/s that every receiver got."""
    first, last = _ends(run, settled(run, number))
    return float((last["acked_bytes"] - first["acked_bytes"]) / PAYLOAD_BYTES / (last["t"] - first["t"]))


def rla_grown(run: Finished, column: str) -> float:
    """What a counter of the sender's trace grew by."""
    first, last = _ends(run, settled(run))
    return float(last[column] - first[column])


def tcp_throughputs(run: Finished) -> list[float]:
    """Packets/s of each TCP, acknowledged."""
    mss = PACKET_BYTES - TCP_ACK_BYTES  # as many headers
    return [flow_goodput(run, number, skipped_s(run)) / 8 / mss for number in range(len(run.run.document["traffic"]))]


def tcp_cuts(run: Finished, number: int) -> float:
    """Window cuts of a TCP: fast retransmits and time-outs, which is what the paper calls its congestion signals."""
    first, last = _ends(run, [row for row in run.series(f"flow-{number}") if row["t"] >= skipped_s(run)])
    return float(sum(last[column] - first[column] for column in ("fast_retransmits", "timeouts")))


def signals_of(run: Finished) -> list[float]:
    """Congestion signals that RLA's sender had from each receiver, in the order of the scenario's receivers."""
    first, last = _ends(run, settled(run))
    addresses = {receiver["host"]: receiver["address"] for receiver in run.summary["sessions"][0]["receivers"]}
    return [
        float(
            last["receivers"][addresses[host]]["congestion_signals"]
            - first["receivers"][addresses[host]]["congestion_signals"]
        )
        for host in run.run.document["sessions"][0]["receivers"]
    ]
