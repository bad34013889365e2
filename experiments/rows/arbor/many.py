"""Receivers that lose independently, of real-time data and of a file."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.arbor.base import (
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

# --- many receivers that lose independently

_MANY: Final = (1, 10, 100, 1000)
_MANY_BPS: Final = 10e6
_MANY_MS: Final = 80.0
_MANY_QUICK_S: Final = 15.0
"""Of a quick run: a thousand receivers take the processor some three seconds for one (ours)."""


def _many_cases(quick: bool) -> Sequence[Case]:
    return [Case(f"{count} receivers", _many(count, quick), x=count) for count in _MANY]


def _many(count: int, quick: bool) -> dict[str, Any]:
    names = [f"r{number}" for number in range(count)]
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": sending_host(_MANY_BPS)}
    nodes |= {name: {"kind": "host"} for name in names}
    links = [bottleneck("left", "right", _MANY_BPS, 200, _MANY_MS), access("s", "left", 10 * _MANY_BPS, 0.1)]
    for number, name in enumerate(names):
        links.append({**access("right", name, 10 * _MANY_BPS, 7 - number % 7), "toward": {name: {"loss": LOSS}}})
    return document("arbor-many", _MANY_QUICK_S if quick else 2 * SECONDS, nodes, links, session_of(names))


def _many_measure(run: Finished) -> Mapping[str, float]:
    rows = [row for row in trace(run, 0, "sender") if row.get("rtt_s")]
    sent = rate([(row["t"], row["sent_bytes"]) for row in rows], FROM_SHARE * run.summary["duration_s"])
    return {"sent": sent, **feedback(rows)}


# --- a file to many that lose independently

_FILE_BYTES: Final = 3_000_000
_FILE_LOSS: Final = 0.01
_FILE_BPS: Final = 10e6
_FILE_MS: Final = 10.0
_FILE_MANY: Final = (1, 10, 100, 1000)


def _file_cases(quick: bool) -> Sequence[Case]:
    counts = _FILE_MANY[:-1] if quick else _FILE_MANY
    return [Case(f"{count} receivers", _file(count), x=count) for count in counts]


def _file(count: int) -> dict[str, Any]:
    names = [f"r{number}" for number in range(count)]
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": sending_host(_FILE_BPS)}
    nodes |= {name: {"kind": "host"} for name in names}
    links = [bottleneck("left", "right", _FILE_BPS, 50, _FILE_MS), access("s", "left", 10 * _FILE_BPS, 0.1)]
    links += [{**access("right", name, 10 * _FILE_BPS, 5), "toward": {name: {"loss": _FILE_LOSS}}} for name in names]
    session = session_of(names, size=f"{_FILE_BYTES} B")
    return document("arbor-repairs", FILE_SECONDS, nodes, links, session)


def _file_measure(run: Finished) -> Mapping[str, float]:
    rows = [row for row in trace(run, 0, "sender") if row.get("rtt_s")]
    return {"repairs": 100 * rows[-1]["repair_packets"] * SYMBOL_BYTES / _FILE_BYTES, **feedback(rows)}


MANY: Final = Row(
    "arbor-many",
    "arbor",
    "sim",
    "1 to 1,000 receivers, 160 ms, each with 0.5 % of loss of its own",
    "the least of many is not less than each",
    "at 10 to 1,000 at least 0.7 of the rate of one; below 20 feedback packets a round trip, in any second",
    "",
    Experiment(
        _many_cases,
        _many_measure,
        Every(
            [
                *(Only(RatioBetween(f"{count} receivers", "1 receivers", 0.7), "sent") for count in _MANY[1:]),
                *(Only(EachBetween(most=20), quantity) for quantity in FEEDBACK),
            ]
        ),
        Figure("receivers", {"sent": "kbit/s", **FEEDBACK}, log_x=True),
    ),
)

REPAIRS: Final = Row(
    "arbor-repairs",
    "arbor",
    "sim",
    "3 MB to 1 to 1,000 receivers, each with 1 % of loss of its own",
    "repairs are as many as the worst receiver lacks",
    "repairs below 5 % of the data; below 20 feedback packets a round trip, in any second",
    "",
    Experiment(
        _file_cases,
        _file_measure,
        Every(
            [Only(EachBetween(most=5.0), "repairs"), *(Only(EachBetween(most=20.0), quantity) for quantity in FEEDBACK)]
        ),
        Figure("receivers", {"repairs": "% of the data", **FEEDBACK}, log_x=True),
    ),
)
