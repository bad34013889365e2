"""How TFMCC's rate falls with the number of receivers that lose independently (3, Fig. 7), by formula and simulated;
and how many loss events a round trip time can hold (Appendix A, Fig. 17).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.harness.relations import EachBetween, Every, NearReference, Only, Ordered, RatioBetween
from experiments.harness.row import Case, Curve, Experiment, Figure, Judgement, Outcome, Relation, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import PACKET_BYTES, document
from experiments.rows.tfmcc.base import fast, host, session_rate, tfmcc
from hosts.parts.throughput import loss_events_per_rtt
from hosts.protocols.tfmcc.loss_history import interval_weights

Floats: TypeAlias = NDArray[np.float64]

RTT_S: Final = 0.05
LOSS: Final = 0.1
INTERVALS: Final = (8, 16, 32)
COUNTS: Final = (1, 10, 100, 1000, 10_000)
DISTRIBUTION_INTERVALS: Final = 16
"""Loss intervals for the distribution of loss rates: with these the paper's 1/6 is nearest (ours)."""
HIGH_SHARE: Final = 3.0
"""a: of the a log10(n) receivers with the highest loss (ours; the paper gives no value)."""


def equation(p: Floats) -> Floats:
    """Eq. (1) in kbit/s, for many loss event rates at once."""
    packets = 1 / (np.sqrt(2 * p / 3) + 12 * np.sqrt(3 * p / 8) * p * (1 + 32 * p**2))
    return np.asarray(packets * PACKET_BYTES * 8 / RTT_S / 1e3)


def distributed_losses(rng: np.random.Generator, count: int) -> Floats:
    """Section 3's distribution: a log(n) receivers lose 5 to 10 %, some more 2 to 5 %, the others 0.5 to 2 %.

    "Some more" are three times as many (ours)."""
    high = min(count, max(1, round(HIGH_SHARE * np.log10(max(count, 1)))))
    middle = min(count - high, 3 * high)
    parts = (
        rng.uniform(0.05, 0.1, high),
        rng.uniform(0.02, 0.05, middle),
        rng.uniform(0.005, 0.02, count - high - middle),
    )
    return np.concatenate(parts)


def least_rates(rng: np.random.Generator, losses: Floats, intervals: int, samples: int) -> Floats:
    """The rate of the worst receiver at `samples` independent moments: each averages its last intervals (2.3)."""
    weights = np.array(interval_weights(intervals))
    weights /= weights.sum()
    rates = np.empty(samples)
    for index in range(samples):
        lengths = rng.geometric(losses[:, None], (len(losses), intervals))
        rates[index] = equation(np.minimum(1.0, 1 / (lengths @ weights).min(keepdims=True)))[0]
    return rates


# --- Fig. 7


def _label(intervals: int, receivers: int, world: str = "open loop") -> str:
    return f"{world}, m = {intervals}, {receivers} receivers"


def _open_case(intervals: int, receivers: int, samples: int) -> Case:
    return Case(
        _label(intervals, receivers),
        {"figure": 7, "intervals": intervals, "receivers": receivers, "samples": samples},
        "formula",
        receivers,
        series=f"open loop, m = {intervals}",
    )


_CLOSED_S: Final[Mapping[int, float]] = {1: 1000.0, 10: 1000.0, 100: 1000.0, 1000: 400.0, 10_000: 200.0}
"""Receivers -> how long they are simulated: longer where it costs little, for m = 8 and 16 are but 5 % apart."""
_CLOSED_QUICK_S: Final[Mapping[int, float]] = {1: 120.0, 100: 400.0}
_CLOSED_SETTLED_S: Final = 60.0
"""By then slowstart is out of the loss histories."""


def _closed_case(intervals: int, receivers: int, seconds: float) -> Case:
    """Everybody behind a lossy link of its own, without queues, and with the round trip time that the figure is for.

    With an initial one of 500 ms most of many receivers would have that for as long as this takes: rounds take 2 s, in
    which a loss history of 8 intervals is over, and whoever has no RTT of its own takes several losses for one event.
    """
    names = [f"r{number}" for number in range(receivers)]
    delay_ms = RTT_S / 2 * 1e3
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "s": host(), **{name: host() for name in names}}
    links = [fast("s", "core", 0.0)]
    links += [fast("core", name, delay_ms, toward={name: {"loss": LOSS}}) for name in names]
    session = tfmcc(names, loss_intervals=intervals, initial_rtt_s=RTT_S)
    scenario = document("tfmcc-fig7", seconds, nodes, links, session)
    scenario["simulation"] = {"sample": "100 s"}
    label = _label(intervals, receivers, "simulated")
    return Case(label, scenario, "sim", receivers, series=f"simulated, m = {intervals}")


def _is_simulated(intervals: int, receivers: int) -> bool:
    """Ten thousand receivers take minutes: with the paper's 8 intervals only."""
    return receivers < max(COUNTS) or intervals == min(INTERVALS)


def _scaling_cases(quick: bool) -> Sequence[Case]:
    cases = [
        _open_case(intervals, receivers, max(50, (20_000 if quick else 100_000) // receivers // 10))
        for intervals in INTERVALS
        for receivers in COUNTS
    ]
    worst = _label(DISTRIBUTION_INTERVALS, max(COUNTS), "distribution")
    cases.append(Case(worst, {"figure": 7, "distribution": max(COUNTS), "samples": 100}, "formula", max(COUNTS)))
    durations = _CLOSED_QUICK_S if quick else _CLOSED_S
    return cases + [
        _closed_case(intervals, receivers, seconds)
        for intervals in INTERVALS
        for receivers, seconds in durations.items()
        if _is_simulated(intervals, receivers)
    ]


def _scaling_measure(run: Finished) -> Mapping[str, float]:
    given = run.run.document
    if run.run.world == "sim":
        return {"rate": session_rate(run, _CLOSED_SETTLED_S)}
    rng = np.random.default_rng((run.run.seed, given.get("receivers", 0), given.get("intervals", 0)))
    if "distribution" not in given:
        losses = np.full(given["receivers"], LOSS)
        return {"rate": float(least_rates(rng, losses, given["intervals"], given["samples"]).mean())}
    rates, fair = [], []
    for _ in range(given["samples"]):
        losses = distributed_losses(rng, given["distribution"])
        rates.append(least_rates(rng, losses, DISTRIBUTION_INTERVALS, 1)[0])
        fair.append(equation(losses.max(keepdims=True))[0])
    return {"degradation": 100 * (1 - float(np.mean(rates)) / float(np.mean(fair)))}


@dataclass(frozen=True, slots=True)
class _Scaling:
    """300 kbit/s alone; falls with n; rises with m; a sixth at 10,000 lies between m = 8 and m = 32; 30 points."""

    least_runs: ClassVar[int] = Ordered.least_runs

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when a case is missing, other than those that a quick run leaves out."""
        labels = {outcome.case.label for outcome in outcomes}
        beyond = {_label(m, n, "simulated") for m in INTERVALS for n in _CLOSED_S if n not in _CLOSED_QUICK_S}
        counts = _CLOSED_S if labels & beyond else _CLOSED_QUICK_S
        return Every([*_levels(), *_orders("open loop", COUNTS), *_orders("simulated", tuple(counts))]).judge(outcomes)


def _levels() -> list[Relation]:
    alone = [_label(intervals, 1, world) for intervals in INTERVALS for world in ("open loop", "simulated")]
    return [
        Only(EachBetween(255.0, 345.0), "rate", labels=alone),
        Only(RatioBetween(_label(8, max(COUNTS)), _label(8, 1), 0.0, 1 / 6), "rate"),
        Only(RatioBetween(_label(32, max(COUNTS)), _label(32, 1), 1 / 6, 1.0), "rate"),
        Only(EachBetween(20.0, 40.0), "degradation"),
    ]


def _orders(world: str, counts: Sequence[int]) -> list[Relation]:
    """Of all counts with as many intervals, and of all intervals with as many receivers."""
    shown = {m: [n for n in counts if world != "simulated" or _is_simulated(m, n)] for m in INTERVALS}
    relations: list[Relation] = [
        Only(Ordered(), "rate", labels=[_label(m, n, world) for n in falling]) for m, falling in shown.items()
    ]
    return relations + [
        Only(Ordered(rises=True), "rate", labels=[_label(m, n, world) for m in INTERVALS])
        for n in counts[1:]
        if all(n in falling for falling in shown.values())
    ]


# --- Fig. 17

_PEAKS: Final[Mapping[float, float]] = {1.0: 0.188, 2.0: 0.13}
"""b -> peak: what the printed Eq. (1) has (NOTES), and what the paper says, which is Eq. (1)'s with b = 2."""
_GRID: Final = 10 ** np.linspace(-4, 0, 2001)


def _peak_cases(quick: bool) -> Sequence[Case]:
    return [
        Case(f"b = {b:g}", {"figure": 17, "b": b}, "formula", b, references={"peak": peak})
        for b, peak in _PEAKS.items()
    ]


def _events(b: float) -> list[tuple[float, float]]:
    return [(float(p), loss_events_per_rtt(float(p), b=b)) for p in _GRID]


def _peak_measure(run: Finished) -> Mapping[str, float]:
    return {"peak": max(events for _, events in _events(run.run.document["b"]))}


def _peak_curves(run: Finished) -> Sequence[Curve]:
    return [Curve(f"b = {run.run.document['b']:g}", _events(run.run.document["b"]))]


EXPERIMENTS: Final[Mapping[int, Experiment]] = {
    7: Experiment(_scaling_cases, _scaling_measure, _Scaling(), Figure("receivers", {"rate": "kbit/s"}, log_x=True)),
    17: Experiment(
        _peak_cases,
        _peak_measure,
        NearReference(0.03),
        Timeline("loss events per RTT", "loss event rate"),
        _peak_curves,
    ),
}
"""Figure -> its experiment."""
