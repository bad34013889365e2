"""A call beside Arbor, or a CUBIC in its place: what RFC 9743 asks of who shares a queue with real-time flows."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from experiments.harness.relations import EachBetween, Only
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.arbor.base import (
    DELAY_MS,
    FROM_SHARE,
    QUEUES,
    QUICK_SECONDS,
    RATE_BPS,
    SECONDS,
    sending_host,
    session_of,
)
from experiments.rows.networks import access, bottleneck, document

_CALL: Final[Mapping[str, Any]] = {
    "kind": "udp",
    "source": "c",
    "destination": "r2",
    "rate": "69 kbps",
    "packet": "172 B",
}
"""G.711 in RTP: 50 packets a second of 160 bytes and 12 (RFC 3551)."""
_BESIDE: Final = ("arbor", "cubic")


def _cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"{queue}, {beside}", _document(beside, given, quick), x=number, series=beside)
        for beside in _BESIDE
        for number, (queue, given) in enumerate(QUEUES.items())
    ]


def _document(beside: str, queue: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    nodes |= {"s": sending_host(RATE_BPS), "x": sending_host(RATE_BPS), "c": {"kind": "host"}}
    nodes |= {name: {"kind": "host"} for name in ("r0", "r1", "r2")}
    links = [{**bottleneck("left", "right", RATE_BPS, delay_ms=DELAY_MS), "queue": dict(queue)}]
    links += [access(host, "left", 10 * RATE_BPS, 0.1) for host in ("s", "x", "c")]
    links += [access("right", host, 10 * RATE_BPS, 0.1) for host in ("r0", "r1", "r2")]
    tcp = {"kind": "tcp", "source": "x", "destination": "r1", "start": "0 s", "congestion_control": "cubic"}
    sessions = [session_of(["r0"])] if beside == "arbor" else []
    found = document("arbor-call", QUICK_SECONDS if quick else SECONDS, nodes, links, session_of(["r0"]))
    fine = {"sample": "50 ms"}
    return {**found, "sessions": sessions, "traffic": [_CALL, *([] if sessions else [tcp])], "simulation": fine}


def _measure(run: Finished) -> Mapping[str, float]:
    """What is lost of the call, and how long packets wait at the bottleneck, where all wait in one queue."""
    since = FROM_SHARE * run.summary["duration_s"]
    sent = [row for row in run.series("flow-0") if row["t"] >= since]
    came = [row for row in run.series("flow-0-sink") if row["t"] >= since]
    lost = 1 - _gain(came, "received_packets") / _gain(sent, "sent_packets")
    ports = (row for row in run.series("ports") if (row["switch"], row["neighbour"]) == ("left", "right"))
    waits = [row["queue_bytes"] * 8e3 / RATE_BPS for row in ports if row["t"] >= since]
    return {"lost": 100 * max(0.0, lost), "median": float(np.median(waits)), "longest": float(np.percentile(waits, 99))}


def _gain(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    return float(rows[-1][column] - rows[0][column])


CALL: Final = Row(
    "arbor-call",
    "arbor",
    "sim",
    "a call of 50 packets/s beside it in 20 Mbps, 30 ms, or beside a CUBIC, by the kind of the queue",
    "real-time flows beside it lose no more than beside a TCP",
    "at most 1 % of the call is lost",
    "",
    Experiment(
        _cases,
        _measure,
        Only(EachBetween(most=1.0), "lost"),
        Figure(
            "queue",
            {"lost": "% of the call", "median": "queue, median, ms", "longest": "queue, 99 %, ms"},
            places=tuple(QUEUES),
        ),
    ),
)
