"""The rows of RLA on the tertiary tree: Figs. 7 to 10, two sessions, and the theorems (paper, Section 5)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.harness.relations import EachBetween, Every, IntervalsBetween, Only, Ordered
from experiments.harness.row import Case, Experiment, Figure, Judgement, Outcome, Row
from experiments.harness.runs import Finished
from experiments.harness.statistics import mean_interval
from experiments.rows.rla.base import (
    CASES,
    DROPTAIL,
    GENERALIZED,
    PAPER,
    RECEIVERS,
    RED,
    Bottleneck,
    mean_of,
    rla_grown,
    rla_throughput,
    signals_of,
    tcp_cuts,
    tcp_throughputs,
    tree,
)

FULL_S, QUICK_S = 3000.0, 40.0
"""5: 3,000 s, of which the first 100 do not count."""
MODERATE = 0.05
"""4.1: the theorems are about congestion probabilities below 5 %."""
_QUEUES: Mapping[str, Mapping[str, Any]] = {"DropTail": DROPTAIL, "RED": RED}
_TREE = f"four-level tertiary tree, {RECEIVERS} receivers, one TCP each, 3,000 s, five cases"
_TABLE = {
    "rla": "RLA, packets/s",
    "wtcp": "worst TCP, packets/s",
    "btcp": "best TCP, packets/s",
    "ratio": "RLA / worst TCP",
    "signals": "congestion signals",
}


def _case(name: str, queue: str, quick: bool, x: float = 0.0) -> Case:
    document = tree(CASES[name], _QUEUES[queue], name="rla-tree", seconds=QUICK_S if quick else FULL_S)
    label = f"{name}, {queue}"
    return Case(label, document, x=x, series=queue)


@dataclass(frozen=True, slots=True)
class _Cases:
    """All five cases with some kinds of queue."""

    queues: Sequence[str]
    names: Sequence[str] = tuple(CASES)

    def __call__(self, quick: bool) -> Sequence[Case]:
        return [
            _case(name, queue, quick, x=number + 1) for queue in self.queues for number, name in enumerate(self.names)
        ]


def table(run: Finished) -> Mapping[str, float]:
    """The columns of Figs. 7 and 9: of RLA throughput, window, round trip time, signals and cuts; then two TCPs.

    `share` is the part of the signals that was answered by a cut, times the number of receivers.
    """
    throughputs = tcp_throughputs(run)
    rla = rla_throughput(run)
    signals = rla_grown(run, "congestion_signals")
    forced = rla_grown(run, "forced_cuts")
    cuts = forced + rla_grown(run, "randomized_cuts")
    return {
        "rla": rla,
        "cwnd": mean_of(run, "cwnd"),
        "rtt": mean_of(run, "rtt_s"),
        "signals": signals,
        "cuts": cuts,
        "forced": forced,
        "wtcp": min(throughputs),
        "btcp": max(throughputs),
        "ratio": rla / min(throughputs),
        "share": cuts / signals * len(throughputs) if signals else math.nan,
        "distance": abs(math.log(rla / min(throughputs))),
    }


def _by_branch(run: Finished) -> Mapping[str, float]:
    """Fig. 8: congestion signals per branch, RLA's and TCP's, where the branch is congested: its TCP has at least half
    as many cuts as the one with most, which the free branches of cases 4 and 5 have not.
    """
    rla = signals_of(run)
    tcp = [tcp_cuts(run, number) for number in range(len(rla))]
    congested = [number for number, cuts in enumerate(tcp) if cuts >= max(tcp) / 2]
    ours = [rla[number] for number in congested]
    theirs = [tcp[number] for number in congested]
    return {
        "rla_worst": max(ours),
        "rla_best": min(ours),
        "rla_mean": fmean(ours),
        "tcp_worst": max(theirs),
        "tcp_best": min(theirs),
        "tcp_mean": fmean(theirs),
        "ratio": fmean(ours) / fmean(theirs),
    }


@dataclass(frozen=True, slots=True)
class _Closer:
    """With RED the mean distance from equality, over all cases, is smaller than with DropTail. Measured: the difference
    of the logarithms of the two means."""

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError unless both kinds of queue were measured as often."""
        found = {
            queue: [outcome.values for outcome in outcomes if outcome.case.series == queue]
            for queue in ("DropTail", "RED")
        }
        runs = min((len(values) for values in found["DropTail"] + found["RED"]), default=0)
        if not runs or not found["DropTail"] or not found["RED"]:
            raise ValueError("one kind of queue was not measured")
        means = {
            queue: [fmean(values[run] for values in cases) for run in range(runs)] for queue, cases in found.items()
        }
        gain = mean_interval([drop - red for drop, red in zip(means["DropTail"], means["RED"], strict=True)])
        return Judgement(gain.mean > 0, gain, "distance", "mean over the cases", math.expm1(gain.mean))


def _theorem(run: Finished) -> Mapping[str, float]:
    """How far RLA's share is within Theorem I (RED) or II (DropTail): at least 1 on both sides. Empty above 5 %."""
    n = len(run.run.document["traffic"])
    packets = rla_grown(run, "data_packets")
    if max(signals_of(run)) / packets >= MODERATE:
        return {}
    kind = run.run.document["links"][0]["queue"]["kind"]
    least, most = (1 / 3, math.sqrt(3 * n)) if kind == "red" else (1 / 4, 2 * n)
    ratio = rla_throughput(run) / min(tcp_throughputs(run))
    return {"lower": ratio / least, "upper": most / ratio}


def _two_sessions(quick: bool) -> Sequence[Case]:
    document = tree(CASES["case 3"], DROPTAIL, name="rla-two", seconds=QUICK_S if quick else FULL_S, sessions=2)
    return [Case("case 3", document)]


def _two(run: Finished) -> Mapping[str, float]:
    first, second = (rla_throughput(run, number) for number in (0, 1))
    return {"first": first, "second": second, "ratio": first / second}


_GATEWAYS = {"level 2": Bottleneck(2, 1300, 3), "level 3": Bottleneck(3, 500, 9)}
"""5.3, 36 receivers: 12 TCPs and RLA on a link of level 2, 3 and the gateway's own and RLA on one of level 3; each
leaves 100 packets/s a flow (ours, as in the other cases)."""


def _round_trips(quick: bool) -> Sequence[Case]:
    return [
        Case(
            name,
            tree(
                bottleneck,
                DROPTAIL,
                name="rla-rtt",
                seconds=QUICK_S if quick else FULL_S,
                gateways=True,
                parameters=GENERALIZED,
            ),
            x=number + 2,
        )
        for number, (name, bottleneck) in enumerate(_GATEWAYS.items())
    ]


_UNIFORM = [f"case {number}, DropTail" for number in (1, 2, 3)]

SHARES = (
    Row(
        "rla-fig7",
        PAPER,
        "sim",
        f"{_TREE}, DropTail 20",
        "RLA / slowest TCP 1-3",
        "0.85-3.3; cuts / signals 1/27 +- 25 %; cases 1, 2, 3 in falling order",
        {"ratio": "RLA / slowest TCP", "share": "times 1/27", "rla": "packets/s between neighbours"},
        Experiment(
            _Cases(["DropTail"]),
            table,
            Every(
                [
                    Only(EachBetween(0.85, 3.3), quantity="ratio"),
                    Only(EachBetween(0.75, 1.25), quantity="share"),
                    Only(Ordered(), quantity="rla", labels=_UNIFORM),
                ]
            ),
            Figure("case", _TABLE),
        ),
    ),
    Row(
        "rla-fig8",
        PAPER,
        "sim",
        f"{_TREE}, DropTail 20",
        "RLA and TCP have about as many congestion signals a branch",
        "RLA within 25 % of TCP in cases 1-3, the interval above 0.72",
        "RLA's / TCP's",
        Experiment(
            _Cases(["DropTail"]),
            _by_branch,
            Every(
                [
                    Only(EachBetween(0.75, 1.25), quantity="ratio", labels=_UNIFORM),
                    Only(IntervalsBetween(0.72), quantity="ratio", labels=_UNIFORM),
                ]
            ),
            Figure("case", {"rla_mean": "RLA's signals a branch", "tcp_mean": "TCP's signals", "ratio": "RLA / TCP"}),
        ),
    ),
    Row(
        "rla-fig9",
        PAPER,
        "sim",
        f"{_TREE}, RED (5, 15)",
        "closer to equal than with DropTail, above all in case 1",
        "mean |ln(RLA / slowest TCP)| below DropTail's; in case 1 with 95 % confidence",
        "nearer by",
        Experiment(
            _Cases(["DropTail", "RED"]),
            table,
            Every(
                [
                    Only(_Closer(), quantity="distance"),
                    Only(Ordered(), quantity="distance", labels=["case 1, DropTail", "case 1, RED"]),
                ]
            ),
            Figure("case", _TABLE),
        ),
    ),
    Row(
        "rla-two",
        PAPER,
        "sim",
        "two sessions and one TCP each on the tree, case 3",
        "65.1 and 65.9 packets/s",
        "ratio 0.9-1.1",
        "first / second",
        Experiment(
            _two_sessions,
            _two,
            Only(EachBetween(0.9, 1.1), quantity="ratio"),
            Figure("", {"first": "first session, packets/s", "second": "second session, packets/s"}),
        ),
    ),
    Row(
        "rla-fig10",
        PAPER,
        "sim",
        "36 receivers, bottlenecks at level 2, then level 3, pthresh scaled by (rtt/rttmax)^2",
        "a reasonable share",
        "0.5-4 times the slowest TCP, interval included",
        "RLA / slowest TCP",
        Experiment(
            _round_trips,
            table,
            Only(IntervalsBetween(0.5, 4.0), quantity="ratio"),
            Figure("level of the bottleneck", _TABLE),
        ),
    ),
)

THEOREMS = (
    Row(
        "rla-theorems",
        PAPER,
        "sim",
        "all runs of rla-fig7 and rla-fig9 with p below 5 %",
        "RED: 1/3 to sqrt(3n); DropTail: 1/4 to 2n",
        "both bounds of each run's mean hold",
        "times within",
        Experiment(
            _Cases(["DropTail", "RED"]),
            _theorem,
            EachBetween(least=1.0),
            Figure("case", {"lower": "share / lower bound", "upper": "upper bound / share"}, log_y=True),
        ),
    ),
)
