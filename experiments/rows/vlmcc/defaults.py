"""What the paper claims of VLMCC beside itself, and its shares with TCP over the queue: by the default rules, and the
paper's."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.relations import EachBetween, Only
from experiments.harness.row import Case, Experiment, Figure
from experiments.harness.runs import Finished
from experiments.rows.networks import access, bottleneck, document
from experiments.rows.rates import rate, tcp_rate
from experiments.rows.vlmcc.base import PAYLOAD_BYTES, received, vlmcc
from experiments.rows.vlmcc.sharing import dumbbell

_DEFAULT, _PAPER = "default rules", "the paper's rules"
_SERIES: Final = (_DEFAULT, _PAPER)


def _by(series: str, session: Mapping[str, Any]) -> dict[str, Any]:
    """A session by these rules, with their own thresholds."""
    given = {"payload_bytes": PAYLOAD_BYTES} if series == _DEFAULT else session["parameters"]
    return {**session, "parameters": given}


# --- beside itself

_COUNTS: Final = (2, 4)
_APART_S: Final = 30.0
_SETTLED_S: Final = 60.0
"""After the last one began."""
_WINDOW_S: Final = 30.0
_SELF_BPS: Final = 10e6
_SELF_MS: Final = 20.0
_SELF_QUEUE: Final = 64
"""These three are ours: the paper says no more of it than that sessions with similar conditions should have equal
rates (1)."""


def _self_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"{count} sessions, {series}", _beside_itself(count, series), x=count, series=series)
        for series in _SERIES
        for count in _COUNTS
    ]


def _beside_itself(count: int, series: str) -> dict[str, Any]:
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    links = [bottleneck("left", "right", _SELF_BPS, _SELF_QUEUE, _SELF_MS)]
    sessions = []
    for number in range(count):
        sender, receiver = f"s{number}", f"r{number}"
        nodes |= {sender: {"kind": "host"}, receiver: {"kind": "host"}}
        links += [access(sender, "left", 10 * _SELF_BPS), access("right", receiver, 10 * _SELF_BPS)]
        session = _by(series, vlmcc([receiver], _APART_S * number))
        sessions.append({**session, "id": number + 1, "sender": sender, "group": f"232.1.1.{number + 1}"})
    seconds = _APART_S * (count - 1) + _SETTLED_S + _WINDOW_S
    return document("vlmcc-self", seconds, nodes, links, sessions[0], sessions=sessions)


def _self_measure(run: Finished) -> Mapping[str, float]:
    count = len(run.run.document["sessions"])
    since = _APART_S * (count - 1) + _SETTLED_S
    rates = [rate(received(run, f"r{number}", number), since, since + _WINDOW_S) for number in range(count)]
    return {"Jain": sum(rates) ** 2 / (count * sum(one**2 for one in rates)), "use": sum(rates) * 1e3 / _SELF_BPS}


# --- over the queue

_QUEUES: Final = (8, 15, 25, 40, 64)
_QUEUE_SECONDS: Final = 120.0
_QUEUE_FROM_S: Final = 40.0


def _queue_cases(quick: bool) -> Sequence[Case]:
    """Fig. 4's network; session and TCP begin together."""
    cases = []
    for series in _SERIES:
        for queue in _QUEUES:
            scenario = dumbbell("vlmcc-queue", _QUEUE_SECONDS, 3.0, queue)
            scenario["sessions"] = [_by(series, scenario["sessions"][0])]
            cases.append(Case(f"queue {queue}, {series}", scenario, x=queue, series=series))
    return cases


def _queue_measure(run: Finished) -> Mapping[str, float]:
    return {"share": rate(received(run, "r0"), _QUEUE_FROM_S) / tcp_rate(run, 0, _QUEUE_FROM_S)}


EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "self": Experiment(
        _self_cases,
        _self_measure,
        Only(EachBetween(0.97), "Jain", _DEFAULT),
        Figure("sessions", {"Jain": "Jain's index", "use": "use of the link"}),
    ),
    "queue": Experiment(
        _queue_cases,
        _queue_measure,
        Only(EachBetween(0.5, 2.0), "share", _DEFAULT),
        Figure("queue, packets", {"share": "VLMCC / TCP"}),
    ),
}
"""Row -> its experiment."""
