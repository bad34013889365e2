"""How TFMCC's rate falls with the number of receivers that lose independently (3, Fig. 7), by formula and simulated;
and how many loss events a round trip time can hold (Appendix A, Fig. 17).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.relations import EachBetween, Every, NearReference, Only, Ordered, RatioBetween
from experiments.row import Case, Curve, Experiment, Figure, Relation, Timeline
from experiments.rows.tfmcc_base import PACKET_BYTES, document, fast, host, session_rate, tfmcc
from experiments.runs import Finished
from hosts.loss_history import interval_weights
from hosts.throughput import loss_events_per_rtt

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


def _closed_case(intervals: int, receivers: int, seconds: float) -> Case:
    """Everybody behind a lossy link of its own, without queues."""
    names = [f"r{number}" for number in range(receivers)]
    delay_ms = RTT_S / 2 * 1e3
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "s": host(), **{name: host() for name in names}}
    links = [fast("s", "core", 0.0)]
    links += [fast("core", name, delay_ms, toward={name: {"loss": LOSS}}) for name in names]
    scenario = document("tfmcc-fig7", seconds, nodes, links, tfmcc(names, loss_intervals=intervals))
    scenario["simulation"] = {"sample": "100 s"}
    label = _label(intervals, receivers, "simulated")
    return Case(label, scenario, "sim", receivers, series=f"simulated, m = {intervals}")


_CLOSED_COUNTS: Final = (1, 100, 10_000)
_CLOSED_S: Final = 200.0
_CLOSED_QUICK_S: Final = 60.0
_CLOSED_SETTLED_S: Final = 30.0


def _scaling_cases(quick: bool) -> Sequence[Case]:
    cases = [
        _open_case(intervals, receivers, max(50, (20_000 if quick else 100_000) // receivers // 10))
        for intervals in INTERVALS
        for receivers in COUNTS
    ]
    worst = _label(DISTRIBUTION_INTERVALS, max(COUNTS), "distribution")
    cases.append(Case(worst, {"figure": 7, "distribution": max(COUNTS), "samples": 100}, "formula", max(COUNTS)))
    seconds = _CLOSED_QUICK_S if quick else _CLOSED_S
    cases += [
        _closed_case(intervals, receivers, seconds) for intervals in INTERVALS for receivers in _CLOSED_COUNTS[:-1]
    ]
    # Ten thousand receivers take minutes: once, with the paper's 8 intervals.
    return cases if quick else [*cases, _closed_case(INTERVALS[0], _CLOSED_COUNTS[-1], seconds)]


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


def _scaling_relation() -> Relation:
    """300 kbit/s alone; falls with n; rises with m; a sixth at 10,000 lies between m = 8 and m = 32; 30 points."""
    most = max(COUNTS)
    relations: list[Relation] = [
        Only(EachBetween(255.0, 345.0), "rate", labels=[_label(intervals, 1) for intervals in INTERVALS]),
        Only(EachBetween(255.0, 345.0), "rate", labels=[_label(intervals, 1, "simulated") for intervals in INTERVALS]),
        Only(RatioBetween(_label(8, most), _label(8, 1), 0.0, 1 / 6), "rate"),
        Only(RatioBetween(_label(32, most), _label(32, 1), 1 / 6, 1.0), "rate"),
        Only(EachBetween(20.0, 40.0), "degradation"),
    ]
    for world, counts in (("open loop", COUNTS), ("simulated", _CLOSED_COUNTS[:-1])):
        relations += [
            Only(Ordered(), "rate", labels=[_label(intervals, receivers, world) for receivers in counts])
            for intervals in INTERVALS
        ]
        relations += [
            Only(Ordered(rises=True), "rate", labels=[_label(intervals, receivers, world) for intervals in INTERVALS])
            for receivers in counts[1:]
        ]
    return Every(relations)


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
    7: Experiment(
        _scaling_cases,
        _scaling_measure,
        _scaling_relation(),
        Figure("receivers", {"rate": "kbit/s"}, log_x=True),
    ),
    17: Experiment(
        _peak_cases,
        _peak_measure,
        NearReference(0.03),
        Timeline("loss events per RTT", "loss event rate"),
        _peak_curves,
    ),
}
"""Figure -> its experiment."""
