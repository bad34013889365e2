"""Arbor beside a TCP, and beside itself."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import flow_bytes
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.harness.statistics import jain_index
from experiments.rows.arbor.base import (
    DELAY_MS,
    FROM_SHARE,
    QUEUES,
    QUICK_SECONDS,
    RATE_BPS,
    SECONDS,
    goodput,
    received,
    sending_host,
    session_of,
)
from experiments.rows.networks import access, bottleneck, document
from experiments.rows.rates import rate

# --- beside one TCP

_TCPS: Final = ("cubic", "reno", "prague", "bbr")


def _share_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"{queue}, {tcp}", _beside(tcp, given, quick), x=number, series=tcp)
        for tcp in _TCPS
        for number, (queue, given) in enumerate(QUEUES.items())
    ]


def _beside(tcp: str, queue: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    nodes |= {"s": sending_host(RATE_BPS), "x": sending_host(RATE_BPS), "r0": {"kind": "host"}, "r1": {"kind": "host"}}
    links = [{**bottleneck("left", "right", RATE_BPS, delay_ms=DELAY_MS), "queue": dict(queue)}]
    links += [access(host, "left", 10 * RATE_BPS, 0.1) for host in ("s", "x")]
    links += [access("right", host, 10 * RATE_BPS, 0.1) for host in ("r0", "r1")]
    flow = {"kind": "tcp", "source": "x", "destination": "r1", "start": "1 s", "congestion_control": tcp}
    seconds = QUICK_SECONDS if quick else SECONDS
    return document("arbor-share", seconds, nodes, links, session_of(["r0", "r1"]), [flow])


def _share_measure(run: Finished) -> Mapping[str, float]:
    since = FROM_SHARE * run.summary["duration_s"]
    return {"share": goodput(run, "r0") / rate(flow_bytes(run, 0), since)}


# --- sessions beside each other

_SEVERAL: Final = (2, 4)
_APART_S: Final = 1.0
"""Between two sessions' beginnings (ours)."""


def _several_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"{queue}, {count}", _several(count, given, quick), x=number, series=str(count))
        for count in _SEVERAL
        for number, (queue, given) in enumerate(QUEUES.items())
    ]


def _several(count: int, queue: Mapping[str, Any], quick: bool) -> dict[str, Any]:
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    links = [{**bottleneck("left", "right", RATE_BPS, delay_ms=DELAY_MS), "queue": dict(queue)}]
    sessions = []
    for number in range(count):
        sender, receiver = f"s{number}", f"r{number}"
        nodes |= {sender: sending_host(RATE_BPS), receiver: {"kind": "host"}}
        links += [access(sender, "left", 10 * RATE_BPS, 0.1), access("right", receiver, 10 * RATE_BPS, 0.1)]
        own = {"id": number + 1, "sender": sender, "group": f"232.1.1.{number + 1}"}
        sessions.append({**session_of([receiver]), **own, "start": f"{number * _APART_S:g} s"})
    found = document("arbor-several", QUICK_SECONDS if quick else SECONDS, nodes, links, sessions[0])
    return {**found, "sessions": sessions}


def _several_measure(run: Finished) -> Mapping[str, float]:
    since = FROM_SHARE * run.summary["duration_s"]
    count = len(run.summary["sessions"])
    rates = [rate(received(run, f"r{number}", number), since) for number in range(count)]
    return {"jain": jain_index(rates)}


SHARE: Final = Row(
    "arbor-share",
    "arbor",
    "sim",
    "one TCP beside it in 20 Mbps, 30 ms, by its kind and the queue's",
    "what a TCP would have in its place",
    "0.67-1.5 of a CUBIC's, a Reno's and a Prague's rate behind each queue; 0.4-2.5 of BBR's",
    "",
    Experiment(
        _share_cases,
        _share_measure,
        Every(
            [
                *(Only(EachBetween(0.67, 1.5), "share", tcp) for tcp in _TCPS if tcp != "bbr"),
                Only(EachBetween(0.4, 2.5), "share", "bbr"),
            ]
        ),
        Figure("queue", {"share": "Arbor / TCP"}, places=tuple(QUEUES)),
    ),
)

SEVERAL: Final = Row(
    "arbor-several",
    "arbor",
    "sim",
    "2 and 4 sessions in 20 Mbps, 30 ms, by the kind of the queue",
    "sessions share as TCPs do",
    "Jain index of their rates at least 0.9 behind each queue",
    "",
    Experiment(
        _several_cases,
        _several_measure,
        EachBetween(least=0.9),
        Figure("queue", {"jain": "Jain index"}, places=tuple(QUEUES)),
    ),
)
