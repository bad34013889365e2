"""One WEBRC receiver (5.1: Figs. 4 to 8)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import seconds_of, trace
from experiments.harness.relations import EachBetween, Every, NearReference, OfReference, Only, OverCases
from experiments.harness.row import Case, Curve, Experiment, Figure, Timeline
from experiments.harness.runs import Finished
from experiments.rows.rates import line, rate
from experiments.rows.webrc.base import (
    PACKET_BYTES,
    QUICK_SECONDS,
    SECONDS,
    captioned,
    loss_event_rate,
    lossy,
    mean,
    narrow,
    network,
    receiver_counter,
    receiver_values,
    session,
)

_RATE_LINES: Final = Timeline("kbit/s")


def _alone(name: str, shared: Mapping[str, Any], seconds: float = SECONDS, **more: Any) -> dict[str, Any]:
    document = network(name, shared, {"r1": "0 ms"}, seconds=seconds, **more)
    # The sender begins at a random point of its cycle, so that the receiver comes at a random time of a time slot.
    return document | {"sessions": [session(1, "s1", ["r1"])]}


def _throughput(run: Finished) -> Mapping[str, float]:
    return {"throughput": rate(receiver_counter(run, "r1"), seconds_of(run) / 2)}


def _rate_curve(run: Finished) -> Sequence[Curve]:
    return [Curve("throughput", line(receiver_counter(run, "r1")))]


# --- Figs. 4 and 5: random loss

_FIG4: Final = (0.01, 0.2)


def _convergence_cases(quick: bool) -> Sequence[Case]:
    p, rtt = _FIG4
    references = {"throughput": captioned(p, rtt), "ARTT": rtt, "LOSSP": loss_event_rate(p)}
    return [
        Case(
            "1 %, 0.2 s",
            _alone("webrc-fig4", lossy(rtt, p), QUICK_SECONDS if quick else SECONDS),
            references=references,
        )
    ]


def _convergence_measure(run: Finished) -> Mapping[str, float]:
    since = seconds_of(run) / 2
    lossp = receiver_values(run, "r1", "loss_event_rate", since)
    return {
        **_throughput(run),
        "ARTT": mean(receiver_values(run, "r1", "artt_s", since)),
        # Its inverse is what is averaged (Appendix).
        "LOSSP": 1 / mean([1 / value for value in lossp]),
    }


def _convergence_curves(run: Finished) -> Sequence[Curve]:
    rows = trace(run, 0, "r1")
    artt = [(row["t"], 1e3 * row["artt_s"]) for row in rows if row.get("artt_s") is not None]
    # From the first loss on, as in the paper: before it LOSSP means nothing.
    lossp = [(row["t"], 1e4 * row["loss_event_rate"]) for row in rows if row.get("slow_start_packets_s") is not None]
    return [*_rate_curve(run), Curve("ARTT, ms", artt), Curve("LOSSP, 1e-4", lossp)]


FIG4: Final = Experiment(
    _convergence_cases,
    _convergence_measure,
    Every(
        (Only(NearReference(0.10), "throughput"), Only(NearReference(0.15), "ARTT"), Only(NearReference(0.15), "LOSSP"))
    ),
    Timeline("kbit/s, ms, 1e-4"),
    curves=_convergence_curves,
)

_RTTS: Final = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
_LOSSES: Final = (0.0001, 0.001, 0.01, 0.1)
_LEFT_OUT: Final = 2
"""Cells with the lowest rates: a few base channel rates, where the equation is not matched (5.1.1)."""
_LEAST_OF_SESSION: Final = 2.0
"""Session rate over the reference, at least (ours): a receiver near it would measure the session's end."""
_TOLERANCE, _MOST_LOSS_TOLERANCE, _MEAN_TOLERANCE = 0.10, 0.20, 0.05
"""Of each cell, of those with most loss, of the mean of all."""


def _session_rate_bps(kbps: float) -> float:
    """One rule for all cells (ours): the least power of two of Mbit/s that leaves the receiver room."""
    wanted = _LEAST_OF_SESSION * kbps / 1e3
    return float(1e6 * 2 ** max(0, math.ceil(math.log2(wanted))))


def _grid_cases(quick: bool) -> Sequence[Case]:
    rtts, losses = ((0.05, 0.2), (0.01, 0.1)) if quick else (_RTTS, _LOSSES)
    grid = [(p, rtt, captioned(p, rtt)) for rtt in rtts for p in losses]
    least = sorted(expected for _, _, expected in grid)[0 if quick else _LEFT_OUT]
    cases = []
    for p, rtt, expected in grid:
        if expected < least:
            continue
        document = _alone("webrc-fig5", lossy(rtt, p), QUICK_SECONDS if quick else SECONDS)
        document["sessions"] = [session(1, "s1", ["r1"], rate_bps=_session_rate_bps(expected))]
        cases.append(Case(_label(p, rtt), document, x=p, references={"throughput": expected}, series=f"{rtt:g} s"))
    return cases


def _labels(losses: Sequence[float]) -> Sequence[str]:
    return [_label(p, rtt) for rtt in _RTTS for p in losses]


def _label(p: float, rtt: float) -> str:
    return f"{100 * p:g} %, {rtt:g} s"


FIG5: Final = Experiment(
    _grid_cases,
    _throughput,
    Every(
        (
            Only(NearReference(_TOLERANCE), labels=_labels(_LOSSES[:-1])),
            Only(NearReference(_MOST_LOSS_TOLERANCE), labels=_labels(_LOSSES[-1:])),
            OfReference(OverCases(EachBetween(1 - _MEAN_TOLERANCE, 1 + _MEAN_TOLERANCE))),
        )
    ),
    Figure("packet loss probability", {"throughput": "kbit/s"}, "Eqs. (1), (7)", log_x=True, log_y=True),
)


# --- Figs. 6 and 7: a bottleneck


_LOSSLESS: Final = 0.8
"""Of the starts: four of five (the paper shows one run)."""


def _bottleneck(name: str, rate_bps: float, packets: int) -> Experiment:
    def cases(quick: bool) -> Sequence[Case]:
        document = _alone(name, narrow(0.1, rate_bps, packets), QUICK_SECONDS if quick else SECONDS)
        if packets > 100:
            document["sessions"][0]["parameters"]["early_leave"] = True
        return [Case("", document)]

    def measure(run: Finished) -> Mapping[str, float]:
        lost = receiver_values(run, "r1", "lost_packets", 0.0)[-1]
        used = rate(receiver_counter(run, "r1"), seconds_of(run) / 2) * 1e3 / rate_bps
        return {"utilisation": used, "losses": lost, "lossless": float(lost == 0)}

    relation: Any = Only(EachBetween(0.92), "utilisation")
    if packets > 100:
        relation = Every((Only(EachBetween(0.98), "utilisation"), Only(EachBetween(_LOSSLESS), "lossless")))
    return Experiment(cases, measure, relation, _RATE_LINES, curves=_rate_curve)


FIG6: Final = _bottleneck("webrc-fig6", 320e3, 4)
FIG7: Final = _bottleneck("webrc-fig7", 3.2e6, 160)


# --- Fig. 8: competing UDP

_LINK_KBPS: Final = 1000.0
_PHASES: Final = ((0.0, 150.0, 0.0), (150.0, 300.0, 500.0), (300.0, 450.0, 250.0))
"""From, to, kbit/s of the competitor."""
_SETTLING_S: Final = 20.0
"""Two time slots."""
_UDP_PAYLOAD: Final = PACKET_BYTES - 42


def _udp(since: float, until: float, kbps: float) -> dict[str, Any]:
    payload = kbps * 1e3 * _UDP_PAYLOAD / PACKET_BYTES
    return {
        "kind": "udp",
        "source": "u",
        "destination": "v",
        "rate": f"{payload:.0f} bps",
        "packet": f"{_UDP_PAYLOAD} B",
        "start": f"{since:g} s",
        "stop": f"{until:g} s",
    }


def _competing_cases(quick: bool) -> Sequence[Case]:
    document = _alone("webrc-fig8", narrow(0.05, _LINK_KBPS * 1e3, 6), 450)
    document["nodes"] |= {"u": {"kind": "host"}, "v": {"kind": "host"}}
    document["links"] += [{"between": ["u", "core"]}, {"between": ["edge", "v"]}]
    document["traffic"] = [_udp(*phase) for phase in _PHASES if phase[2]]
    return [Case("", document)]


def _competing_measure(run: Finished) -> Mapping[str, float]:
    counter = receiver_counter(run, "r1")
    return {
        f"share of what is free, {since:g}-{until:g} s": rate(
            counter, max(since, 75.0) + _SETTLING_S * (since > 0), until
        )
        / (_LINK_KBPS - kbps)
        for since, until, kbps in _PHASES
    }


FIG8: Final = Experiment(_competing_cases, _competing_measure, EachBetween(0.80), _RATE_LINES, curves=_rate_curve)
