"""How many TFMCC sessions beside how many TCPs: "Only in scenarios where the number of TFMCC flows greatly exceeds the
number of TCP flows is TFMCC more aggressive than TCP. The reason for this lies in the spacing of the data packets and
buffer requirements" of DropTail queues (4.1). So a RED queue is to take that from it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import receiver_bytes
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.networks import PACKET_BYTES
from experiments.rows.rates import rate, tcp_rates
from experiments.rows.tfmcc.base import PAYLOAD_BYTES, QUEUE, SOON_S, dumbbell, fast, host, spread_starts, tfmcc

_FLOWS: Final = 16
_RATE_BPS: Final = 8e6
"""Fig. 9's."""
_SESSIONS: Final = (1, 8, 14)
"""Of sixteen flows: Fig. 9's, half of them, and seven times as many as TCPs (ours)."""
_SETTLED_S: Final = 60.0
_RED: Final[Mapping[str, Any]] = {
    **QUEUE,
    "kind": "red",
    "min_threshold": 5,
    "max_threshold": 25,
    "weight": 0.002,
    "max_probability": 0.1,
    "gentle": False,
}
"""On the same 50 packets: thresholds of a tenth and a half of it, else ns-2's of 2001 (ours)."""
_QUEUES: Final[Mapping[str, Mapping[str, Any]]] = {"DropTail": QUEUE, "RED": _RED}


def mixture(sessions: int, queue: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Sixteen flows over Fig. 9's bottleneck, so many of them TFMCC's with a receiver each, the others TCPs."""
    scenario = dumbbell("tfmcc-many", seconds, _RATE_BPS, spread_starts(_FLOWS - sessions), receivers=sessions)
    scenario["links"][0]["queue"] = dict(queue)
    for number in range(1, sessions):
        scenario["nodes"][f"s{number}"] = host(_RATE_BPS, shares=True)
        scenario["links"].append(fast(f"s{number}", "left"))
    starts = spread_starts(sessions, SOON_S)
    scenario["sessions"] = [
        {
            **tfmcc([f"r{number}"]),
            "id": number + 1,
            "sender": f"s{number}" if number else "s",
            "group": f"232.1.1.{number + 1}",
            "start": f"{starts[number]:g} s",
        }
        for number in range(sessions)
    ]
    return scenario


def _label(sessions: int, queue: str) -> str:
    return f"{sessions} TFMCC, {_FLOWS - sessions} TCP, {queue}"


def _cases(quick: bool) -> Sequence[Case]:
    return [
        Case(_label(sessions, name), mixture(sessions, queue, 160 if quick else 260), x=sessions, series=name)
        for name, queue in _QUEUES.items()
        for sessions in _SESSIONS
    ]


def _measure(run: Finished) -> Mapping[str, float]:
    sessions = range(len(run.run.document["sessions"]))
    share = PACKET_BYTES / PAYLOAD_BYTES
    rates = [
        rate([(at, octets * share) for at, octets in receiver_bytes(run, number, f"r{number}")], _SETTLED_S)
        for number in sessions
    ]
    tcps = tcp_rates(run, _SETTLED_S)
    return {"ratio": sum(rates) / len(rates) / (sum(tcps) / len(tcps))}


_MANY, _HALF = _SESSIONS[-1], _SESSIONS[1]

ROWS: Final = (
    Row(
        "tfmcc-many",
        "tfmcc",
        "sim",
        f"1, 8, 14 TFMCC sessions among {_FLOWS} flows through Fig. 9's bottleneck, DropTail and RED",
        "more aggressive than TCP only where TFMCC flows greatly exceed TCP flows, by DropTail queues",
        "up to 8: 0.75-1.3 of TCP's mean; 14: more than 1.1 with DropTail, and with RED less than that",
        "TFMCC / mean TCP",
        Experiment(
            _cases,
            _measure,
            Every(
                [
                    Only(EachBetween(0.75, 1.3), labels=[_label(count, "DropTail") for count in (1, _HALF)]),
                    Only(EachBetween(1.1), labels=[_label(_MANY, "DropTail")]),
                    RatioBetween(_label(_MANY, "RED"), _label(_MANY, "DropTail"), 0.0, 1.0),
                ]
            ),
            Figure("TFMCC sessions of 16 flows", {"ratio": "TFMCC / mean TCP"}),
        ),
    ),
)
