"""Ten thousand receivers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Bars, Case, Experiment, Row
from experiments.harness.runs import Finished
from experiments.rows.arbor.base import (
    ASSISTED,
    FEEDBACK,
    FILE_SECONDS,
    FROM_SHARE,
    LOSS,
    SECONDS,
    SYMBOL_BYTES,
    feedback,
    sending_host,
    session_of,
)
from experiments.rows.networks import access, bottleneck, document
from experiments.rows.rates import rate

_MIXED: Final = "mixed"
"""Of those in which some do."""
_OF_FILE: Final = "file"
_CROWD: Final = 10_000
_CROWD_QUICK: Final = 1000
_CROWD_EDGE: Final = 100
"""Receivers at a switch, and switches (ours)."""
_CROWD_BPS: Final = 50e6
_CROWD_MS: Final = 8.0
_CROWD_SECONDS: Final = 4.0
"""200 round trips; many receivers at a time are long enough, one is not (ours)."""
_CROWD_FILE_BYTES: Final = 1_000_000
_CROWDS: Final = {"crowd, switches": ASSISTED, "some of them, mixed": _MIXED}
"""Cases of real-time data, and their series. Without switches to join would take most of a run, and of the machine's
time; a file's receivers join before its data."""


def _crowd_cases(quick: bool) -> Sequence[Case]:
    """A file behind routers; real-time data behind switches that help, and behind some that do, of fewer receivers."""
    count = _CROWD_QUICK if quick else _CROWD
    counts = {ASSISTED: count, _MIXED: _CROWD_QUICK}
    return [
        Case("crowd, a file", _crowd(count, _OF_FILE), x=count, series=_OF_FILE),
        Case("one receiver", _crowd(1, ""), x=1),
        *(
            Case(name, _crowd(counts[series], series), x=counts[series], series=series)
            for name, series in _CROWDS.items()
        ),
    ]


def _crowd(count: int, series: str) -> dict[str, Any]:
    names = [f"r{number}" for number in range(count)]
    edges = [f"e{number}" for number in range(-(-count // _CROWD_EDGE))]
    is_file = series == _OF_FILE
    kind: dict[str, Any] = {"kind": "p4" if series in _CROWDS.values() else "router"}
    # Every other switch at the edge, and the one in the middle, only forward.
    helpless = {"assist": False} if series == _MIXED else {}
    nodes: dict[str, Any] = {"left": dict(kind), "right": {**kind, **helpless}, "s": sending_host(_CROWD_BPS)}
    nodes |= {name: {**kind, **(helpless if number % 2 else {})} for number, name in enumerate(edges)}
    nodes |= {name: {"kind": "host"} for name in names}
    links = [bottleneck("left", "right", _CROWD_BPS, 200, _CROWD_MS), access("s", "left", 2 * _CROWD_BPS, 0.1)]
    links += [access("right", name, 2 * _CROWD_BPS, 0.5) for name in edges]
    for number, name in enumerate(names):
        link = access(edges[number // _CROWD_EDGE], name, 2 * _CROWD_BPS, 7 - number % 7)
        links.append({**link, "toward": {name: {"loss": LOSS}}})
    session = session_of(names, **({"size": f"{_CROWD_FILE_BYTES} B"} if is_file else {}))
    session |= {"assist": "switch"} if series in _CROWDS.values() else {}
    seconds = FILE_SECONDS if is_file else _CROWD_SECONDS if series else SECONDS
    return document("arbor-crowd", seconds, nodes, links, session)


def _crowd_measure(run: Finished) -> Mapping[str, float]:
    rows = [row for row in trace(run, 0, "sender") if row.get("rtt_s")]
    if "repair_packets" in rows[-1]:
        repairs = 100 * rows[-1]["repair_packets"] * SYMBOL_BYTES / _CROWD_FILE_BYTES
        return {"repairs": repairs, **feedback(rows)}
    sent = rate([(row["t"], row["sent_bytes"]) for row in rows], FROM_SHARE * run.summary["duration_s"])
    return {"sent": sent, **feedback(rows)}


CROWD: Final = Row(
    "arbor-crowd",
    "arbor",
    "sim",
    "10,000 receivers, 20 ms, 0.5 % of loss of their own: a file; behind switches; 1,000 where some of these help",
    "nothing grows with the receivers",
    "0.7 of the rate of one; repairs below 5 %; below 20 feedback packets a round trip, in any second",
    "",
    Experiment(
        _crowd_cases,
        _crowd_measure,
        Every(
            [
                *(Only(RatioBetween(name, "one receiver", 0.7), "sent") for name in _CROWDS),
                Only(EachBetween(most=5.0), "repairs"),
                *(Only(EachBetween(most=20.0), quantity) for quantity in FEEDBACK),
            ]
        ),
        Bars({"sent": "kbit/s", "repairs": "% of the data", **FEEDBACK}),
    ),
)
