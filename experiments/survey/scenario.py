"""A cell as a scenario: with a protocol's session, or with a TCP in its place. Plain routers, so that `canopy simulate`
repeats it alone.

    s - g0 ========= g1 - (tree) - r1, r2, ..
        |            |
    x1, .., z        y          s, x: the senders of session and TCPs; y to z: congestion on the way back
"""

from collections.abc import Iterator
from typing import Any, Final

from experiments.survey.bound import PACKET_BITS
from experiments.survey.distribution import Cell
from experiments.survey.references import candidates
from experiments.survey.tree import ROOT
from hosts import protocols
from hosts.protocol import Protocol
from topologies.plan import derive_seed
from topologies.scenario.quantity import format_duration, format_rate

SENDER: Final = "s"
TRUNK: Final = ("g0", ROOT)
SESSION: Final = 1
REFERENCE: Final = 0
"""The place of the TCP that stands for the session, among the flows."""
_GROUP, _PORT = "232.77.0.1", 5077
"""WEBRC's groups are the next ones."""
_EDGE_RATE: Final = 10.0
"""Of the links that are nobody's bottleneck, by the bottleneck's greatest rate."""
_EDGE_PACKETS: Final = 100_000
"""Of their queues: they lose nothing."""
_LEAST_QUEUE: Final = 4
"""Packets: RED's thresholds need as many."""
_RED: Final = (0.25, 0.75)
"""Its thresholds, of the limit."""
_BAD: Final = 0.5
"""Probability that a packet is lost in a bad time of a bursty link."""
_BACK_PACKET: Final = "1000 B"
WINDOW_RTTS, LEAST_WINDOW_S = 4, 0.2
"""Rates are those of times so long, the longer of the two (docs/survey.md)."""
_SAMPLES: Final = 400
"""Of the queues, in a run."""


def window_s(cell: Cell) -> float:
    """Of the times over which rates are taken, and between two rows of traces, seconds."""
    return float(f"{max(WINDOW_RTTS * cell.longest_rtt_s, LEAST_WINDOW_S):.4g}")


def session_document(cell: Cell, protocol: str) -> dict[str, Any]:
    """The scenario with a session of the protocol, with its default parameters. ValueError for an unknown one."""
    found = protocols.get(protocol)
    session = {
        "id": SESSION,
        "protocol": found.name,
        "sender": SENDER,
        "group": _GROUP,
        "port": _PORT,
        content(found): True,
        "receivers": [_receiver(cell, branch.name) for branch in cell.tree.receivers],
    }
    if "parent" in found.option_names:
        session["tree"] = "automatic"  # as `canopy send` and `recv` have it
    faults: list[dict[str, Any]] = []
    if cell.dying is not None:
        name, at = cell.dying
        faults.append({"kind": "receiver-dies", "at": format_duration(at), "session": SESSION, "host": name})
    document = _network(cell, found.name)
    return document | {"sessions": [session], "traffic": _traffic(cell), "faults": faults + _change(cell)}


def reference_document(cell: Cell, receiver: str) -> dict[str, Any]:
    """The scenario with one cubic TCP to a receiver in the session's place."""
    flow = {"kind": "tcp", "source": SENDER, "destination": receiver, "congestion_control": "cubic"}
    return _network(cell, f"tcp-{receiver}") | {"traffic": [flow, *_traffic(cell)], "faults": _change(cell)}


def content(protocol: Protocol[Any]) -> str:
    """What a session without end is called: `realtime` where the protocol has it, else `endless`."""
    return "realtime" if protocol.carries_realtime else "endless"


def describe(cell: Cell) -> str:
    """A cell in one line, for a person."""
    queue = cell.queue
    parts = [
        f"{format_rate(cell.rate_bps)}, {format_duration(cell.rtt_s)}",
        f"{queue.kind} of {queue.bdp:.2g} BDP{' with ECN' if queue.ecn else ''}",
        f"{len(cell.tree.receivers)} receivers",
    ]
    if cell.losses.kind != "none":
        place = "the bottleneck" if cell.losses.is_shared else "their own links"
        parts.append(f"{cell.losses.kind} loss of {cell.losses.rate:.2%} on {place}")
    if cell.tcps:
        parts.append(f"beside {', '.join(tcp.kind for tcp in cell.tcps)}")
    if cell.back is not None:
        parts.append("way back full of TCP" if cell.back.kind == "tcp" else f"way back {cell.back.load:.0%} full")
    if cell.change is not None:
        value = cell.change.value
        parts.append(
            f"{cell.change.kind} becomes {(format_duration if cell.change.kind == 'delay' else format_rate)(value)}"
        )
    if cell.late:
        parts.append(f"{len(cell.late)} join late")
    if cell.dying is not None:
        parts.append("one dies")
    if cell.slow is not None:
        parts.append(f"one reads {format_rate(cell.slow[1])}")
    return "; ".join(parts)


def _network(cell: Cell, contender: str) -> dict[str, Any]:
    nodes: dict[str, Any] = {SENDER: _sending_host(cell)}
    nodes |= {name: {"kind": "router"} for name in (*TRUNK, *(branch.name for branch in cell.tree.routers))}
    nodes |= {branch.name: {"kind": "host"} for branch in cell.tree.receivers}
    nodes |= {f"x{number + 1}": _sending_host(cell) for number in range(len(cell.tcps))}
    if cell.back is not None:
        nodes |= {"y": _sending_host(cell), "z": {"kind": "host"}}
    window = window_s(cell)
    return {
        "name": f"{cell.name}-{contender}",
        "description": describe(cell),
        "seed": derive_seed(cell.seed, f"survey cell {cell.number} run"),
        "duration": format_duration(cell.duration_s),
        "nodes": nodes,
        "links": list(_links(cell)),
        "simulation": {
            "sample": format_duration(max(0.01, cell.duration_s / _SAMPLES)),
            "trace": format_duration(window),
        },
    }


def _sending_host(cell: Cell) -> dict[str, Any]:
    """Each packet waits for up to the bottleneck's time for one, against phase effects of DropTail queues (Floyd and
    Jacobson 1992, who take the same bound)."""
    most = max(1e-6, PACKET_BITS / max(_rates(cell)))
    return {"kind": "host", "sending": {"most": format_duration(most)}}


def _edge(cell: Cell, one: str, other: str, delay_s: float = 0.0) -> dict[str, Any]:
    """A link that is nobody's bottleneck."""
    return {
        "between": [one, other],
        "rate": format_rate(_EDGE_RATE * max(_rates(cell))),
        "delay": format_duration(delay_s),
        "queue": {"kind": "droptail", "packets": _EDGE_PACKETS},
    }


def _rates(cell: Cell) -> tuple[float, float]:
    """The bottleneck's before and after the change."""
    return cell.rate_bps, cell.change.value if cell.change is not None and cell.change.kind == "rate" else cell.rate_bps


def _links(cell: Cell) -> Iterator[dict[str, Any]]:
    yield _edge(cell, SENDER, TRUNK[0])
    trunk: dict[str, Any] = {
        "name": "bottleneck",
        "between": list(TRUNK),
        "rate": format_rate(cell.rate_bps),
        "delay": format_duration(cell.trunk_s),
        "queue": _queue(cell),
    }
    if cell.losses.is_shared and cell.losses.rate:
        trunk["toward"] = {TRUNK[1]: {"loss": _loss(cell, cell.losses.rate)}}
    yield trunk
    for branch in cell.tree.routers:
        yield _edge(cell, branch.parent, branch.name, branch.delay_s)
    for branch, lost in zip(cell.tree.receivers, cell.losses.own, strict=True):
        link = _edge(cell, branch.parent, branch.name, branch.delay_s)
        if lost:
            link["toward"] = {branch.name: {"loss": _loss(cell, lost)}}
        yield link
    for number, tcp in enumerate(cell.tcps):
        yield _edge(cell, f"x{number + 1}", TRUNK[0], tcp.delay_s)
    if cell.back is not None:
        yield _edge(cell, "y", TRUNK[1])
        yield _edge(cell, "z", TRUNK[0])


def _queue(cell: Cell) -> dict[str, Any]:
    """The bottleneck's; its limit is in packets."""
    queue = cell.queue
    limit = max(_LEAST_QUEUE, round(queue.bdp * cell.rate_bps * cell.rtt_s / PACKET_BITS))
    found: dict[str, Any] = {"kind": queue.kind, "packets": limit}
    if queue.kind == "red":
        low, high = (float(f"{share * limit:.4g}") for share in _RED)
        found |= {"min_threshold": low, "max_threshold": high, "mean_packet": "1514 B"}
    if queue.kind not in ("droptail", "dualpi2"):  # one cannot mark, the other always does
        found["ecn"] = queue.ecn
    return found


def _loss(cell: Cell, rate: float) -> Any:
    """Of a link; in bursts the share of bad times is such that as much is lost on average."""
    if cell.losses.kind == "independent":
        return rate
    leave = 1 / cell.losses.burst
    share = rate / _BAD
    enter = float(f"{leave * share / (1 - share):.4g}")
    return {
        "kind": "gilbert-elliott",
        "good_to_bad": enter,
        "bad_to_good": float(f"{leave:.4g}"),
        "good": 0.0,
        "bad": _BAD,
    }


def _receiver(cell: Cell, name: str) -> str | dict[str, Any]:
    if name in cell.late:
        return {"host": name, "join": format_duration(cell.late[name])}
    if cell.slow is not None and cell.slow[0] == name:
        return {"host": name, "read_rate": format_rate(cell.slow[1])}
    return name


def _traffic(cell: Cell) -> list[dict[str, Any]]:
    """The TCPs go to the receiver whose own TCP is likely to get least: they share all of its path."""
    flows: list[dict[str, Any]] = [
        {
            "kind": "tcp",
            "source": f"x{number + 1}",
            "destination": candidates(cell)[0],
            "congestion_control": tcp.kind,
            "start": format_duration(tcp.start_s),
        }
        for number, tcp in enumerate(cell.tcps)
    ]
    if cell.back is not None:
        way: dict[str, Any] = {"source": "y", "destination": "z"}
        if cell.back.kind == "tcp":
            flows.append({"kind": "tcp", **way, "congestion_control": "cubic"})
        else:
            rate = format_rate(cell.back.load * min(_rates(cell)))
            flows.append({"kind": "udp", **way, "rate": rate, "packet": _BACK_PACKET, "gaps": "exponential"})
    return flows


def _change(cell: Cell) -> list[dict[str, Any]]:
    if cell.change is None:
        return []
    fault: dict[str, Any] = {
        "kind": f"link-{cell.change.kind}",
        "at": format_duration(cell.change_s),
        "link": list(TRUNK),
    }
    told = format_duration if cell.change.kind == "delay" else format_rate
    return [fault | {cell.change.kind: told(cell.change.value)}]
