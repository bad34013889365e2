"""A link whose rate changes, and links of several rates."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.arbor.base import (
    ASSISTED,
    DELAY_MS,
    PACKET_BYTES,
    QUEUES,
    QUICK_SECONDS,
    SECONDS,
    SYMBOL_BYTES,
    received,
    sending_host,
    session_of,
)
from experiments.rows.networks import access, bottleneck, document
from experiments.rows.rates import rate
from hosts.protocols.arbor.packets import DATA_BYTES, DEFAULT_PAYLOAD_BYTES

_OVERHEAD_BYTES: Final = 14 + 28 + DATA_BYTES
"""Ethernet's, IPv4's, UDP's and DATA's headers."""


# --- a link that is halved

_HALVED_BPS: Final = 20e6
_HALVED_AT_S: Final = 20.0
_HALVED_S: Final = 30.0
_HALVED_RTT_S: Final = 2 * (DELAY_MS + 0.2) / 1e3
_SETTLES_S: Final = 5.0
"""A reaction that has not come by then is said to take so long."""


def _halved_cases(quick: bool) -> Sequence[Case]:
    """Behind routers, and behind switches."""
    return [
        Case(queue if not series else f"{queue}, {series}", _halved(given, bool(series)), x=number, series=series)
        for series in ("", ASSISTED)
        for number, (queue, given) in enumerate(QUEUES.items())
    ]


def _halved(queue: Mapping[str, Any], assisted: bool) -> dict[str, Any]:
    kind = {"kind": "p4" if assisted else "router"}
    nodes: dict[str, Any] = {"left": kind, "right": dict(kind), "s": sending_host(_HALVED_BPS)}
    nodes |= {"r0": {"kind": "host"}, "r1": {"kind": "host"}}
    links = [{**bottleneck("left", "right", _HALVED_BPS, delay_ms=DELAY_MS), "queue": dict(queue)}]
    links += [access("s", "left", 10 * _HALVED_BPS, 0.1)]
    links += [access("right", host, 10 * _HALVED_BPS, 0.1) for host in ("r0", "r1")]
    fault = {
        "kind": "link-rate",
        "at": f"{_HALVED_AT_S:g} s",
        "link": ["left", "right"],
        "rate": f"{_HALVED_BPS / 2:g} bps",
    }
    fine = {"trace": "10 ms", "sample": "500 ms"}
    session = session_of(["r0", "r1"])
    session |= {"assist": "switch"} if assisted else {}
    return document("arbor-halved", _HALVED_S, nodes, links, session, faults=[fault], simulation=fine)


def _halved_measure(run: Finished) -> Mapping[str, float]:
    """Round trips until no more is sent than the link carries; what comes later of the new rate."""
    rows = [row for row in trace(run, 0, "sender") if row["t"] >= _HALVED_AT_S and row.get("allowed_bps")]
    until = next((row["t"] for row in rows if row["allowed_bps"] <= _HALVED_BPS / 2), _HALVED_AT_S + _SETTLES_S)
    later = rate(received(run, "r0"), _HALVED_AT_S + 20 * _HALVED_RTT_S)
    payload = SYMBOL_BYTES + 16  # with the piece's own header
    full = _HALVED_BPS / 2 / 1e3 * payload / (payload + _OVERHEAD_BYTES)
    return {"reaction": (until - _HALVED_AT_S) / _HALVED_RTT_S, "later": 100 * later / full}


# --- receivers behind links of their own

_LINKS_BPS: Final = (0.5e6, 1.3e6, 3e6, 7e6, 12e6, 20e6)
_LAYERS_MS: Final = (5.0, 40.0)
_RUNGS: Final = 17
_SETTLED: Final = 1 / 2
"""Of a run: all have found their rung."""


def _layers_cases(quick: bool) -> Sequence[Case]:
    return [Case(f"{delay_ms:g} ms", _layers(delay_ms, quick), x=delay_ms) for delay_ms in _LAYERS_MS]


def _layers(delay_ms: float, quick: bool) -> dict[str, Any]:
    names = [f"r{number}" for number in range(len(_LINKS_BPS))]
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": sending_host(_LINKS_BPS[-1])}
    nodes |= {name: {"kind": "host"} for name in names}
    fast_bps = 10 * sum(_LINKS_BPS)
    links = [access("s", "left", fast_bps, 0.1), access("left", "right", fast_bps, 1)]
    for name, link_bps in zip(names, _LINKS_BPS, strict=True):
        packets = max(20, int(link_bps * 2 * delay_ms / 8e3 / PACKET_BYTES))
        links.append(bottleneck("right", name, link_bps, packets, delay_ms))
    session = session_of(names, realtime=True, parameters={"rungs": _RUNGS})
    return document("arbor-layers", QUICK_SECONDS if quick else SECONDS, nodes, links, session)


def _layers_measure(run: Finished) -> Mapping[str, float]:
    """What the application gets of each receiver's link, whose packets have headers, too."""
    payload = DEFAULT_PAYLOAD_BYTES / (DEFAULT_PAYLOAD_BYTES + _OVERHEAD_BYTES)
    since = _SETTLED * run.summary["duration_s"]
    shares = [
        100 * rate(received(run, f"r{number}"), since) / (link_bps / 1e3 * payload)
        for number, link_bps in enumerate(_LINKS_BPS)
    ]
    return {"least": min(shares), "most": max(shares)}


HALVED: Final = Row(
    "arbor-halved",
    "arbor",
    "sim",
    "20 Mbps become 10 after 20 s, 30 ms, by the kind of the queue",
    "the reaction takes some round trips",
    "within 6 round trips (3 with switches) no more is sent than the link carries; after 20 come 90 % of it",
    "",
    Experiment(
        _halved_cases,
        _halved_measure,
        Every(
            [
                Only(EachBetween(most=6.0), "reaction"),
                Only(EachBetween(most=3.0), "reaction", ASSISTED),
                Only(EachBetween(90.0), "later"),
            ]
        ),
        Figure("queue", {"reaction": "round trips", "later": "% of the new rate"}, places=tuple(QUEUES)),
    ),
)

LAYERS: Final = Row(
    "arbor-layers",
    "arbor",
    "sim",
    "receivers behind 0.5 to 20 Mbps, 17 rungs, by their delay",
    "no receiver holds another back",
    "each has at least 70 % of its own link",
    "",
    Experiment(
        _layers_cases,
        _layers_measure,
        Every([Only(EachBetween(70.0), "least")]),
        Figure("delay, ms", {"least": "% of its link, worst", "most": "% of its link, best"}),
    ),
)
