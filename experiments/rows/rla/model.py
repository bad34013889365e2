"""The rows of RLA's model: the drift of two windows (Fig. 4), where two real windows gather (Fig. 5), and the bounds of
the Proposition, in the model and in the simulator (paper, Section 4).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.optimize import brentq
from scipy.special import comb

from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Curve, Experiment, Figure, Plane, Row
from experiments.harness.runs import Finished
from experiments.rows.rla.base import (
    DROPTAIL,
    FAST,
    GROUP,
    PACKET_BITS,
    PAPER,
    RESTRICTED,
    UPWARD,
    mean_of,
    senders_and_tcps,
    settled,
)

# --- the drift diagram


def drift(own: float, other: float, n: int, pipe: float) -> float:
    """Average change of a window in two round trips (4.4), with n links of the same pipe size: packets."""
    if own + other < pipe:
        return 2.0
    # i of n signals cut, each with probability 1/n; none: the window grows by 2.
    probability = [comb(n, i) * (1 - 1 / n) ** (n - i) * (1 / n) ** i for i in range(n + 1)]
    return float(2 * probability[0] - sum((1 - 0.5**i) * probability[i] for i in range(1, n + 1)) * own)


_TROUBLED, _FIG4_PIPE = 3, 10
"""4.4, Fig. 4: n and pipe."""
_ARROW = 1 / 5
"""4.4: the drift is scaled down by a factor of 5 to make the picture clear."""


def _drift_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"({own}, {other})", {"own": own, "other": other}, "formula")
        for other in range(1, _FIG4_PIPE + 1)
        for own in range(1, _FIG4_PIPE + 1)
    ]


def _drifts(own: float, other: float) -> tuple[float, float]:
    return drift(own, other, _TROUBLED, _FIG4_PIPE), drift(other, own, _TROUBLED, _FIG4_PIPE)


def _drift_measure(run: Finished) -> Mapping[str, float]:
    own, other = run.run.document["own"], run.run.document["other"]
    return {"drift": _drifts(own, other)[0], "towards": _towards(own, other)}


def _drift_curves(run: Finished) -> Sequence[Curve]:
    """The drift at a point as an arrow from there; once, the line on which the pipe is full."""
    own, other = run.run.document["own"], run.run.document["other"]
    ahead, up = (_ARROW * length for length in _drifts(own, other))
    arrow = Curve("drift in 2 RTT, a fifth of it", [(own, other), (own + ahead, other + up)])
    full = Curve("the pipe is full", [(0, _FIG4_PIPE), (_FIG4_PIPE, 0)], is_reference=True)
    return [arrow, full] if (own, other) == (1, 1) else [arrow]


def _towards(own: float, other: float) -> float:
    """1 when both windows drift towards (pipe/2, pipe/2) from a point that the pipe holds (they grow) or does not (the
    larger one shrinks); else 0."""
    drifts = _drifts(own, other)
    if own + other < _FIG4_PIPE:
        return float(min(drifts) > 0)
    return float(drifts[own < other] < 0)


# --- the Proposition


def neutral_window(losses: Sequence[float]) -> float:
    """The window at which RLA's drift is zero, when each receiver loses packets on its own, so often (4.2).

    A packet grows the window by 1/W unless a signal cuts it; k signals, each listened to with probability 1/n, leave
    W / 2^k.
    """
    n = len(losses)
    kept = math.prod(1 - p / n for p in losses)  # no cut
    halved = math.prod(1 - p / n + p / (2 * n) for p in losses)  # mean of 2^-cuts
    return float(brentq(lambda w: kept / w - (1 - halved) * w, 1e-3, 1e6))


def bound(p: float) -> float:
    """Eq. (1): the window of a TCP, sqrt(2 (1 - p) / p)."""
    return math.sqrt(2 * (1 - p) / p)


_RECEIVERS = (1, 3, 9, 27)
_LOSS = 0.01
_MINOR = 20
"""Rule 6's eta: the least congested receiver that still counts."""
_KINDS = ("independent", "common", "one at p, others at p/20")


def _losses(kind: str, n: int, p: float) -> list[float]:
    return [p if kind != _KINDS[2] or number == 0 else p / _MINOR for number in range(n)]


def star(kind: str, n: int, seconds: float) -> dict[str, Any]:
    """A star without a bottleneck, which loses packets at random on the shared link or on each receiver's."""
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}, "s": {"kind": "host"}}
    queue = {"kind": "droptail", "packets": 1000}
    shared = _LOSS if kind == "common" else 0.0
    links: list[dict[str, Any]] = [
        {"between": ["s", "left"], "rate": FAST, "delay": "1 ms", "queue": queue},
        {
            "between": ["left", "right"],
            "rate": FAST,
            "delay": "1 ms",
            "queue": queue,
            "toward": {"right": {"loss": shared}},
        },
    ]
    for number, p in enumerate(_losses(kind, n, _LOSS)):
        nodes[f"r{number}"] = {"kind": "host"}
        own = 0.0 if kind == "common" else p
        links.append(
            {
                "between": ["right", f"r{number}"],
                "rate": FAST,
                "delay": "48 ms",
                "queue": queue,
                "toward": {f"r{number}": {"loss": own}},
            }
        )
    return {
        "name": "rla-drift",
        "duration": f"{seconds:g} s",
        "simulation": {"trace": "200 ms", "sample": "10 s"},
        "nodes": nodes,
        "links": links,
        "sessions": [
            {
                "id": 1,
                "protocol": PAPER,
                "sender": "s",
                "group": GROUP.format(1),
                "port": 5001,
                "endless": True,
                "receivers": [f"r{number}" for number in range(n)],
                "parameters": dict(RESTRICTED),
            }
        ],
    }


def _drift_label(kind: str, n: int) -> str:
    return f"n = {n}, {kind}"


def _proposition_cases(quick: bool) -> Sequence[Case]:
    simulated = [
        Case(_drift_label(kind, n), star(kind, n, 24 if quick else 1000), x=n, series=kind)
        for kind in _KINDS
        for n in _RECEIVERS
    ]
    model = [
        Case(
            f"model, p = {p:g}, {_drift_label(kind, n)}", {"kind": kind, "n": n, "p": p}, "formula", x=n, series="model"
        )
        for kind in (_KINDS[0], _KINDS[2])
        for n in (2, 3, 9, 27)
        for p in (0.001, 0.01, 0.049)
    ]
    return simulated + model


def _proposition_measure(run: Finished) -> Mapping[str, float]:
    document = run.run.document
    if run.run.world == "formula":
        p, n = document["p"], document["n"]
        window = neutral_window(_losses(document["kind"], n, p))
        return {"above": window / bound(p), "below": math.sqrt(n) * bound(p) / window}
    return {"window": mean_of(run, "cwnd")}


_IN_BOUNDS = [
    Only(RatioBetween(_drift_label(kind, n), _drift_label(kind, 1), 0.95, math.sqrt(n)), quantity="window")
    for kind in _KINDS
    for n in _RECEIVERS[1:]
]

# --- two sessions

_PIPE = 60
"""4.4, footnote: delay-bandwidth product of each path, packets, for two RLA sessions and a TCP. A pipe's size is the
largest round trip time by the bandwidth (4.4), so what the queue holds is part of it."""
_RTT = 0.2
"""The largest."""
_STAR_RECEIVERS = 27


def two_sessions(seconds: float) -> dict[str, Any]:
    """Footnote 11: two sessions with 27 receivers each, and a TCP to each receiver; every path has a pipe of 60 packets
    (ours: a round trip time of 0.2 s when the queue, DropTail 20 as elsewhere, is full)."""
    rate = f"{int(_PIPE / _RTT) * PACKET_BITS} bps"
    one_way_s = _RTT * (1 - DROPTAIL["packets"] / _PIPE) / 2
    wide = {"rate": "1 Gbps", "delay": "0 s", "queue": {"kind": "droptail", "packets": 1000}}
    sender = {"kind": "host", "sending": {"most": f"{1e6 * _RTT / _PIPE:.0f} us"}}
    nodes: dict[str, Any] = {"root": {"kind": "router"}}
    links: list[dict[str, Any]] = []
    for number in range(2):
        nodes[f"s{number}"] = sender
        links.append({"between": [f"s{number}", "root"], **wide})
    for number in range(_STAR_RECEIVERS):
        nodes |= {f"t{number}": sender, f"g{number}": {"kind": "router"}, f"r{number}": {"kind": "host"}}
        links += [
            {"between": [f"t{number}", "root"], **wide},
            {
                "between": ["root", f"g{number}"],
                "rate": rate,
                "delay": f"{1e6 * one_way_s:.0f} us",
                "queue": DROPTAIL,
                "toward": {"root": {"rate": UPWARD}},
            },
            {"between": [f"g{number}", f"r{number}"], **wide},
        ]
    receivers = [f"r{number}" for number in range(_STAR_RECEIVERS)]
    return {
        "name": "rla-fig5",
        "duration": f"{seconds:g} s",
        "simulation": {"trace": "400 ms", "sample": "10 s"},
        "nodes": nodes,
        "links": links,
        **senders_and_tcps(2, receivers, RESTRICTED),
    }


def _density_cases(quick: bool) -> Sequence[Case]:
    return [Case("two sessions", two_sessions(50 if quick else 1500))]


def _density_measure(run: Finished) -> Mapping[str, float]:
    return {f"cwnd{number + 1}": mean_of(run, "cwnd", number) for number in (0, 1)}


def _density_curves(run: Finished) -> Sequence[Curve]:
    """Both windows at each moment of the measured time; and where they are equal."""
    first, second = (settled(run, number) for number in (0, 1))
    points = [(one["cwnd"], other["cwnd"]) for one, other in zip(first, second, strict=False)]
    most = max((max(point) for point in points), default=0.0)
    return [Curve("samples", points), Curve("equal windows", [(0, 0), (most, most)], is_reference=True)]


FIGURES = (
    Row(
        "rla-fig4",
        PAPER,
        "formulas",
        "drift of two windows, n = 3, pipe 10, steps of 2 RTT",
        "the drift points to the desired operating point",
        "everywhere: both grow below the pipe, the larger one shrinks above it",
        "of all points",
        Experiment(
            _drift_cases,
            _drift_measure,
            Only(EachBetween(least=1.0), quantity="towards"),
            Plane("arrows", "window of the first, packets", "window of the second, packets"),
            _drift_curves,
        ),
    ),
    Row(
        "rla-fig5",
        PAPER,
        "sim",
        "two sessions, 27 receivers, pipe 60",
        "windows gather around (20, 20)",
        "mean (20, 20) +- 10 %",
        "packets",
        Experiment(
            _density_cases,
            _density_measure,
            EachBetween(18.0, 22.0),
            Plane("density", "cwnd of the first, packets", "cwnd of the second, packets"),
            _density_curves,
        ),
    ),
)

PROPOSITION = (
    Row(
        "rla-drift",
        PAPER,
        "sim",
        "Section 4: W(n)/W(1) at equal p, n = 1 to 27",
        "between 1 and sqrt(n)",
        "the model satisfies Eq. (2) exactly; in [0.95, sqrt(n)]",
        {"window": "W(n) / W(1)", "above": "over the bound", "below": "bound over it"},
        Experiment(
            _proposition_cases,
            _proposition_measure,
            Every(
                [
                    *_IN_BOUNDS,
                    Only(EachBetween(least=1.0), quantity="above"),
                    Only(EachBetween(least=1.0), quantity="below"),
                ]
            ),
            Figure("receivers", {"window": "mean cwnd, packets"}, log_x=True),
        ),
    ),
)
