"""What WEBRC's rows have in common: one setting for all of them, networks, and what is read from their runs.

"Ours" marks what the paper's text does not say; it is the same in all rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, trace
from experiments.harness.runs import Finished
from experiments.rows.rates import line
from hosts.parts.throughput import packets_per_rtt

PAPER: Final = "webrc"
PACKET_BYTES: Final = 1024
"""Table 1: LENP, here with all headers, as ns-2's."""
PACKET_BITS: Final = 8 * PACKET_BYTES
SYMBOL_BYTES: Final = PACKET_BYTES - 62
"""What a packet of real-time data carries: 1,024 less Ethernet, IPv4, UDP (42) and ALC (20)."""
PAPER_PARAMETERS: Final[Mapping[str, Any]] = {
    "rules": "paper",
    "packet_bytes": PACKET_BYTES,
    "base_rate": 1.0,
    "epoch_s": 0.5,
}
"""Table 1, and the paper's rules: what the defaults have otherwise."""
SESSION_RATE_BPS: Final = 8e6
"""SR (ours): two and a half times the fastest bottleneck."""
GROUPS: Final = "232.6.{}.0"
POLITENESS: Final = (1 - 0.75) / math.log(1 / 0.75)
"""Eq. (7)'s factor, 0.869."""
SECONDS: Final = 500.0
"""5.1.1; the steady state is the last half (note 8)."""
QUICK_SECONDS: Final = 200.0


def loss_event_rate(p: float) -> float:
    """Eq. (8): LOSSP at packet loss probability `p` (this form is ours; it gives the paper's 0.0089 at 1 %)."""
    return p / (1 + math.sqrt(3 * p / 2))


def predicted(p: float, rtt: float) -> float:
    """kbit/s of a receiver alone: Eq. (1) at Eq. (8)'s LOSSP, times Eq. (7)'s upper bound."""
    return POLITENESS * packets_per_rtt(loss_event_rate(p)) / rtt * PACKET_BITS / 1e3


def captioned(p: float, rtt: float) -> float:
    """kbit/s of Figs. 4 and 5's caption: Eq. (1) at the loss probability of the axis, times Eq. (7)'s upper bound."""
    return POLITENESS * packets_per_rtt(p) / rtt * PACKET_BITS / 1e3


def session(
    number: int, sender: str, receivers: Sequence[Any], *, rate_bps: float = SESSION_RATE_BPS
) -> dict[str, Any]:
    """A session of real-time data, without end."""
    return {
        "id": number,
        "protocol": PAPER,
        "sender": sender,
        "group": GROUPS.format(number),
        "port": 5000 + number,
        "realtime": True,
        "receivers": list(receivers),
        "parameters": {**PAPER_PARAMETERS, "session_rate_bps": rate_bps},
    }


def network(
    name: str,
    shared: Mapping[str, Any],
    tails: Mapping[str, str],
    *,
    seconds: float = SECONDS,
    senders: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """s1, s2, ... - `core` - `edge` - receivers. `shared`: core to edge; `tails`: receiver -> one-way delay.

    A sender is at no distance from `core`, which stands for it, as joins go no further (4.2)."""
    fast = {"queue": {"kind": "droptail", "packets": 10_000}}
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "edge": {"kind": "router"}}
    links: list[dict[str, Any]] = [{"name": "shared", "between": ["core", "edge"], **shared}]
    for number in range(1, senders + 1):
        nodes[f"s{number}"] = {"kind": "host"}
        links.append({"between": [f"s{number}", "core"], **fast})
    for receiver, delay in tails.items():
        nodes[receiver] = {"kind": "host"}
        links.append({"between": ["edge", receiver], "delay": delay, **fast})
    return {
        "name": name,
        "duration": f"{seconds:g} s",
        "nodes": nodes,
        "links": links,
        "simulation": {"trace": "0.5 s", "sample": "1 s"},
        **more,
    }


def lossy(rtt: float, p: float) -> dict[str, Any]:
    """A link without a rate that loses packets on the way to the receivers only."""
    return {"delay": f"{rtt / 2 * 1e3:g} ms", "toward": {"edge": {"loss": p}}}


def narrow(rtt: float, rate_bps: float, packets: int) -> dict[str, Any]:
    """A bottleneck with so many packets of buffer."""
    return {
        "delay": f"{rtt / 2 * 1e3:g} ms",
        "rate": f"{rate_bps:g} bps",
        "queue": {"kind": "droptail", "packets": packets},
    }


# --- what is read; rates in kbit/s of packets on the link


def receiver_counter(run: Finished, host: str, number: int = 0) -> Counter:
    """Bytes on the link that a receiver had by time."""
    rows = trace(run, number, host)
    return [(row["t"], row["data_packets"] * PACKET_BYTES) for row in rows if "data_packets" in row]


def receiver_values(run: Finished, host: str, column: str, since: float, until: float = math.inf) -> list[float]:
    """A column of a receiver's trace between two times. ValueError when there is none."""
    rows = trace(run, 0, host)
    found = [float(row[column]) for row in rows if since <= row["t"] <= until and row.get(column) is not None]
    if not found:
        raise ValueError(f"{host}: no {column} from {since:g} s on")
    return found


def by_log(least: float, most: float, count: int) -> Sequence[float]:
    """So many (at least two) values from `least` to `most`, each the same factor above the one before."""
    return [least * (most / least) ** (number / (count - 1)) for number in range(count)]


def mean(values: Sequence[float]) -> float:
    """Of at least one value."""
    return math.fsum(values) / len(values)


def variation(counter: Counter, since: float) -> float:
    """Coefficient of variation of the rates of whole seconds."""
    rates = [value for at, value in line(counter) if at >= since]
    average = mean(rates)
    return math.sqrt(mean([(value - average) ** 2 for value in rates])) / average


def port_packets(run: Finished, node: str, neighbour: str, since: float) -> tuple[int, int]:
    """Packets that a router took from a neighbour, and sent to it, after a time."""
    rows = [row for row in run.series("ports") if (row["switch"], row["neighbour"]) == (node, neighbour)]
    late = [row for row in rows if row["t"] >= since]
    if len(late) < 2:
        raise ValueError(f"no counters of {node} towards {neighbour} after {since:g} s")
    first, last = late[0], late[-1]
    return last["rx_packets"] - first["rx_packets"], last["tx_packets"] - first["tx_packets"]
