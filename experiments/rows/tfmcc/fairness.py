"""TFMCC beside TCP in the steady state (4.1: Figs. 9 and 10; D.1: Figs. 18 and 19)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import seconds_of
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Curve, Experiment, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import document, tcp
from experiments.rows.rates import line, tcp_counter, tcp_rate, tcp_rates, variation
from experiments.rows.tfmcc.base import (
    ACCESS_MS,
    ONE_WAY_MS,
    add_tcp,
    dumbbell,
    fast,
    host,
    narrow,
    session_counter,
    session_rate,
    spread_starts,
    tfmcc,
)

_SETTLED_S: Final = 60.0
"""Slowstart and the way to the fair rate are over."""
_RATE_LINES = Timeline("kbit/s")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


# --- Fig. 9


def _shared_cases(quick: bool) -> Sequence[Case]:
    seconds = 160 if quick else 260
    return [Case("shared", dumbbell("tfmcc-fig9", seconds, 8e6, spread_starts(15)))]


def _shared_measure(run: Finished) -> Mapping[str, float]:
    until = seconds_of(run)
    flows = range(len(run.run.document["traffic"]))
    smoothness = _mean([variation(tcp_counter(run, number), _SETTLED_S, until) for number in flows])
    return {
        "ratio": session_rate(run, _SETTLED_S, receiver="r0") / _mean(tcp_rates(run, _SETTLED_S)),
        "variation ratio": variation(session_counter(run, "r0"), _SETTLED_S, until) / smoothness,
    }


def _shared_curves(run: Finished) -> Sequence[Curve]:
    return [
        Curve("TFMCC", line(session_counter(run, "r0"))),
        *(Curve(f"TCP {number + 1}", line(tcp_counter(run, number))) for number in (0, 1)),
    ]


# --- Figs. 10, 18 and 19: tail circuits


def _tails(
    name: str,
    seconds: float,
    count: int,
    rate_bps: float,
    *,
    back_loss: Sequence[float] = (),
    back_flows: Sequence[int] = (),
) -> dict[str, Any]:
    """Receivers r0, r1, ... behind a bottleneck each, with a TCP on it; loss and further TCPs on the way back."""
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "s": host(rate_bps)}
    links = [fast("s", "core")]
    traffic = []
    for number, start in enumerate(spread_starts(count)):
        edge, receiver, source, sink = f"e{number}", f"r{number}", f"a{number}", f"b{number}"
        nodes |= {edge: {"kind": "router"}, receiver: host(), source: host(rate_bps), sink: host()}
        toward = {"toward": {"core": {"loss": back_loss[number]}}} if back_loss and back_loss[number] else {}
        links += [
            narrow("core", edge, rate_bps, ONE_WAY_MS - 2 * ACCESS_MS, **toward),
            fast(edge, receiver),
            fast(source, "core"),
            fast(edge, sink),
        ]
        traffic.append(tcp(source, sink, start))
    for number, flows in enumerate(back_flows):
        for index, start in enumerate(spread_starts(flows)):
            ends = f"x{number}_{index}", f"y{number}_{index}"
            add_tcp(nodes, links, traffic, ends, (f"e{number}", "core"), start, host(rate_bps))
    session = tfmcc([f"r{number}" for number in range(count)])
    return document(name, seconds, nodes, links, session, traffic)


_TAILS: Final = 16


def _tail_cases(quick: bool) -> Sequence[Case]:
    return [Case("tails", _tails("tfmcc-fig10", 160 if quick else 260, _TAILS, 1e6))]


def _tail_measure(run: Finished) -> Mapping[str, float]:
    return {"ratio": session_rate(run, _SETTLED_S, receiver="r0") / _mean(tcp_rates(run, _SETTLED_S))}


_BRANCHES: Final = 4
_BACK_FLOWS: Final = (0, 1, 2, 4)
_BACK_LOSS: Final = (0.0, 0.1, 0.2, 0.3)
_BACK_SETTLED_S: Final = 200.0
"""The clean run takes 190 s to the fair rate, seen in one: slowstart ends early, and loss events that renew the history
are rare. The other, which loses more, is there after 90 s."""


def _back_flow_cases(quick: bool) -> Sequence[Case]:
    seconds = 260 if quick else 360
    return [
        Case("clean", _tails("tfmcc-fig18", seconds, _BRANCHES, 1e6), x=0),
        Case("return TCPs", _tails("tfmcc-fig18", seconds, _BRANCHES, 1e6, back_flows=_BACK_FLOWS), x=1),
    ]


def _back_loss_cases(quick: bool) -> Sequence[Case]:
    seconds = 260 if quick else 360
    return [
        Case("clean", _tails("tfmcc-fig18", seconds, _BRANCHES, 1e6), x=0),
        Case("return loss", _tails("tfmcc-fig19", seconds, _BRANCHES, 1e6, back_loss=_BACK_LOSS), x=1),
    ]


def _back_measure(run: Finished) -> Mapping[str, float]:
    return {
        "TFMCC": session_rate(run, _BACK_SETTLED_S, receiver="r0"),
        **{f"TCP {number + 1}": tcp_rate(run, number, _BACK_SETTLED_S) for number in range(_BRANCHES)},
    }


def _back_curves(run: Finished) -> Sequence[Curve]:
    return [
        Curve("TFMCC", line(session_counter(run, "r0"), 2.0)),
        *(Curve(f"TCP {number + 1}", line(tcp_counter(run, number), 2.0)) for number in range(_BRANCHES)),
    ]


def _unchanged(label: str) -> Only:
    return Only(RatioBetween(label, "clean", 0.9, 1.1), "TFMCC")


EXPERIMENTS: Final[Mapping[int, Experiment]] = {
    9: Experiment(
        _shared_cases,
        _shared_measure,
        Every([Only(EachBetween(0.75, 1.3), "ratio"), Only(EachBetween(0.0, 1.0), "variation ratio")]),
        _RATE_LINES,
        _shared_curves,
    ),
    10: Experiment(_tail_cases, _tail_measure, EachBetween(0.5, 0.9), _RATE_LINES, _shared_curves),
    18: Experiment(_back_flow_cases, _back_measure, _unchanged("return TCPs"), _RATE_LINES, _back_curves),
    19: Experiment(_back_loss_cases, _back_measure, _unchanged("return loss"), _RATE_LINES, _back_curves),
}
"""Figure -> its experiment."""
