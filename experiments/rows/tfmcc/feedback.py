"""TFMCC's feedback suppression by Monte Carlo: one feedback round of many receivers (2.5, Figs. 1 to 6).

Times are in maximum RTTs, rates in parts of the sending rate. A report reaches the others, through the sender's echo,
one maximum RTT after it was sent (unicast feedback, 2.5.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.harness.relations import EachBetween, Every, LargestBetween, NearReference, Only, Ordered, RatioBetween
from experiments.harness.row import Case, Curve, Experiment, Figure, Relation, Timeline
from experiments.harness.runs import Finished

Floats: TypeAlias = NDArray[np.float64]
Method: TypeAlias = Literal["plain", "offset", "modified offset"]

BOUND: Final = 10_000
"""N (2.5.1)."""
DELAY: Final = 4.0
"""T in maximum RTTs (2.5.1)."""
GAMMA: Final = 0.25
"""2.5.4."""
THETA: Final = 0.1
"""2.5.2."""
ECHO_RTTS: Final = 1.0
"""tau: from a report to its echo (2.5.4)."""
METHODS: Final[tuple[Method, ...]] = ("plain", "offset", "modified offset")
COUNTS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Receivers, 1 to N."""
LEAST_RATIO: Final = 0.5
"""Rates are uniform from here to 1 (ours)."""


def exponential_delays(x: Floats, delay: float = DELAY, bound: float = BOUND) -> Floats:
    """Eq. (2) for uniform `x` in (0, 1]."""
    return np.asarray(delay * np.maximum(1 + np.log(x) / np.log(bound), 0.0))


def timer_delays(x: Floats, ratio: Floats, method: Method) -> Floats:
    """Eq. (2), Eq. (3), and Eq. (3) with r' of 2.5.1."""
    if method == "plain":
        return exponential_delays(x)
    bias = ratio if method == "offset" else (np.clip(ratio, 0.5, 0.9) - 0.5) / 0.4
    return GAMMA * bias * DELAY + (1 - GAMMA) * exponential_delays(x)


def reporters(delays: Floats, rates: Floats, theta: float) -> NDArray[np.intp]:
    """Who reports in one round, in the order of their timers: those whom no echo has cancelled before (2.5.2)."""
    order = np.argsort(delays, kind="stable")
    if theta >= 1:  # the first echo cancels everybody
        return order[: int(np.searchsorted(delays[order], delays[order[0]] + ECHO_RTTS, side="right"))]
    sent: list[int] = []
    heard = 0  # how many of the sent ones have been echoed
    least = np.inf
    for index in order:
        now = delays[index]
        while heard < len(sent) and delays[sent[heard]] + ECHO_RTTS < now:
            least = min(least, rates[sent[heard]])
            heard += 1
        if not least - rates[index] < theta * least or least == np.inf:
            sent.append(int(index))
    return np.array(sent, dtype=np.intp)


def uniform(rng: np.random.Generator, count: int) -> Floats:
    """In (0, 1]."""
    return 1.0 - rng.random(count)


def expected_reports(receivers: int, delay: float) -> float:
    """E[f] of 2.5.4; `delay` is T'."""
    power = BOUND ** (ECHO_RTTS / delay)
    return float(power * (receivers / BOUND + (1 - 1 / BOUND) ** receivers - (1 - 1 / power) ** receivers))


def _rounds(receivers: int, *, quick: bool) -> int:
    """Rounds a run: enough for a mean, fewer where one round has many receivers."""
    return max(100, (100_000 if quick else 400_000) // max(receivers, 100))


def _case(label: str, x: float, series: str, references: Mapping[str, float], **document: Any) -> Case:
    return Case(label, document, "formula", x, references, series)


# --- Figs. 1 and 2


_SAMPLES: Final = 10_000
_BIASES: Final = ("unbiased", "modified N", "offset")
_KOLMOGOROV: Final = 1.95
"""sqrt(n) times the greatest distance between a sample's CDF and the right one stays below, in 999 of 1,000 samples."""
_SMALL_BOUND: Final = BOUND / 10
"""The modified N of Fig. 1 (ours)."""


def feedback_cdf(time: Floats, bias: str) -> Floats:
    """P(t <= time) by the formulas, for the lowest rate (r = 0)."""
    bound, delay = {
        "unbiased": (BOUND, DELAY),
        "modified N": (_SMALL_BOUND, DELAY),
        "offset": (BOUND, (1 - GAMMA) * DELAY),
    }[bias]
    return np.where(time < 0, 0.0, np.minimum(1.0, bound ** (time / delay - 1)))


def _biased_delays(rng: np.random.Generator, count: int, bias: str) -> Floats:
    x = uniform(rng, count)
    if bias == "offset":
        return timer_delays(x, np.zeros(count), "offset")
    return exponential_delays(x, bound=_SMALL_BOUND if bias == "modified N" else BOUND)


def _cdf_cases(quick: bool) -> Sequence[Case]:
    return [_case(bias, number, "", {}, figure="cdf", bias=bias) for number, bias in enumerate(_BIASES)]


def _cdf_samples(run: Finished) -> Floats:
    rng = np.random.default_rng(run.run.seed)
    return np.sort(_biased_delays(rng, _SAMPLES, run.run.document["bias"]))


def _cdf_measure(run: Finished) -> Mapping[str, float]:
    samples = _cdf_samples(run)
    positive = samples[samples > 0]  # at 0 the CDF jumps
    below = len(samples) - len(positive)
    exact = feedback_cdf(positive, run.run.document["bias"])
    ranks = np.arange(below + 1, len(samples) + 1) / len(samples)
    distance = max(np.max(np.abs(ranks - exact)), np.max(np.abs(ranks - 1 / len(samples) - exact)))
    return {"distance": float(distance * np.sqrt(len(samples)))}


def _cdf_curves(run: Finished) -> Sequence[Curve]:
    bias = run.run.document["bias"]
    grid = np.linspace(0, DELAY, 100)
    samples = _cdf_samples(run)
    drawn = np.searchsorted(samples, grid, side="right") / len(samples)
    return [
        Curve("ours", list(zip(grid.tolist(), drawn.tolist(), strict=True))),
        Curve("formula", list(zip(grid.tolist(), feedback_cdf(grid, bias).tolist(), strict=True)), is_reference=True),
    ]


_PICTURE_RECEIVERS: Final = 1000
_EARLY_PART: Final = 10
"""The earliest tenth of the timers: among them are the reports."""


def _picture_cases(quick: bool) -> Sequence[Case]:
    methods: tuple[Method, ...] = ("plain", "offset")
    return [
        _case(method, number, "", {"rate of early timers": _early_rate(method)}, figure="picture", method=method)
        for number, method in enumerate(methods)
    ]


def _picture(run: Finished) -> tuple[Floats, Floats, NDArray[np.intp]]:
    rng = np.random.default_rng(run.run.seed)
    rates = uniform(rng, _PICTURE_RECEIVERS)
    delays = timer_delays(uniform(rng, _PICTURE_RECEIVERS), rates, run.run.document["method"])
    return delays, rates, reporters(delays, rates, theta=1.0)


def _picture_measure(run: Finished) -> Mapping[str, float]:
    """The best rate that is reported, and the mean rate of the earliest tenth of the timers, over the mean rate of all.

    Without a bias early timers have rates like all others. With the offset the timer is gamma r T plus (1 - gamma) T
    times a part that does not depend on r, so that what comes early has a low rate.
    """
    delays, rates, sent = _picture(run)
    early = np.argsort(delays)[: _PICTURE_RECEIVERS // _EARLY_PART]
    return {
        "best rate reported": float(rates[sent].min()),
        "rate of early timers": float(rates[early].mean() / rates.mean()),
    }


def _early_rate(method: Method) -> float:
    """What the formulas make of the rate of early timers: Eq. (2), (3) inverted, without any sampling of timers.

    P(timer <= t | r) is N^(u - 1) for u = (t - gamma r T) / ((1 - gamma) T) in [0, 1], 0 below."""
    rates = (np.arange(2000) + 0.5) / 2000
    gamma = 0.0 if method == "plain" else GAMMA

    def early(time: float) -> Floats:
        u = (time - gamma * rates * DELAY) / ((1 - gamma) * DELAY)
        return np.where(u < 0, 0.0, np.minimum(1.0, float(BOUND) ** (u - 1)))

    low, high = 0.0, DELAY
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if early(middle).mean() > 1 / _EARLY_PART else (middle, high)
    weight = early(high)
    return float((weight * rates).sum() / weight.sum() / rates.mean())


def _picture_curves(run: Finished) -> Sequence[Curve]:
    delays, rates, sent = _picture(run)
    silent = np.setdiff1d(np.arange(len(delays)), sent)
    best = sent[np.argmin(rates[sent])]

    def points(indices: Sequence[int]) -> list[tuple[float, float]]:
        return [(float(delays[index]), float(rates[index])) for index in indices]

    return [
        Curve("suppressed", points(list(silent)), marker="."),
        Curve("reported", points(list(sent)), marker="x"),
        Curve("best", points([int(best)]), marker="s"),
    ]


# --- Figs. 3, 5 and 6


def _round_means(run: Finished) -> Mapping[str, float]:
    """Means over rounds: reports, time of the first, and by how much the least rate reported misses the least."""
    document = run.run.document
    receivers, theta = document["receivers"], document["theta"]
    method: Method = document["method"]
    rng = np.random.default_rng((run.run.seed, receivers))
    counts, firsts, deviations = [], [], []
    for _ in range(document["rounds"]):
        rates = 1 - (1 - LEAST_RATIO) * rng.random(receivers)
        delays = timer_delays(uniform(rng, receivers), rates, method)
        sent = reporters(delays, rates, theta)
        counts.append(len(sent))
        firsts.append(delays[sent[0]])
        deviations.append(rates[sent].min() / rates.min() - 1)
    return {
        "reports": float(np.mean(counts)),
        "delay": float(np.mean(firsts)),
        "deviation": float(np.mean(deviations)) * 100,
    }


_THETAS: Final = (0.0, THETA, 1.0)


def _theta_label(receivers: int, theta: float) -> str:
    return f"{receivers} receivers, theta {theta:g}"


def _theta_cases(quick: bool) -> Sequence[Case]:
    return [
        _case(
            _theta_label(receivers, theta),
            receivers,
            f"theta {theta:g}",
            {},
            receivers=receivers,
            theta=theta,
            method="modified offset",
            rounds=_rounds(receivers, quick=quick),
        )
        for theta in _THETAS
        for receivers in COUNTS
    ]


def _theta_relation() -> Relation:
    below = [
        RatioBetween(_theta_label(receivers, THETA), _theta_label(receivers, 0.0), 0.0, 1.0) for receivers in COUNTS
    ]
    near = [
        RatioBetween(_theta_label(receivers, THETA), _theta_label(receivers, 1.0), 0.0, 2.5)
        for receivers in COUNTS
        if receivers <= 1000
    ]
    reported = Only(EachBetween(0.0, 10.0), "deviation", f"theta {THETA:g}")
    return Every([*(Only(relation, "reports") for relation in (*near, *below)), reported])


def _bias_cases(quick: bool) -> Sequence[Case]:
    return [
        _case(
            f"{method}, {receivers} receivers",
            receivers,
            method,
            {},
            receivers=receivers,
            theta=1.0,
            method=method,
            rounds=_rounds(receivers, quick=quick),
        )
        for method in METHODS
        for receivers in COUNTS
    ]


# --- Fig. 4


_SPREADS: Final = (2, 3, 4, 5, 6)


def _expectation_cases(quick: bool) -> Sequence[Case]:
    return [
        _case(
            f"T' {delay} RTT, {receivers} receivers",
            receivers,
            f"T' {delay} RTT",
            {"reports": expected_reports(receivers, delay)},
            receivers=receivers,
            delay=delay,
            rounds=5 * _rounds(receivers, quick=quick),
        )
        for delay in _SPREADS
        for receivers in COUNTS
    ]


def _expectation_measure(run: Finished) -> Mapping[str, float]:
    document = run.run.document
    rng = np.random.default_rng((run.run.seed, document["receivers"], document["delay"]))
    counts = []
    for _ in range(document["rounds"]):
        delays = exponential_delays(uniform(rng, document["receivers"]), document["delay"])
        counts.append(np.count_nonzero(delays <= delays.min() + ECHO_RTTS))
    return {"reports": float(np.mean(counts))}


# --- the rows

_DECADES: Final = (1, 10, 100, 1000, 10_000)
_TIMES = Timeline("probability", "feedback time, RTT")
_PICTURE = Timeline("rate / sending rate", "feedback time, RTT")


def _picture_relation() -> Relation:
    """The rates of early timers are the formulas'; with the bias they are lower, and so is the best one reported."""
    return Every(
        [
            Only(NearReference(0.15), "rate of early timers"),
            Only(RatioBetween("offset", "plain", 0.0, 0.8), "rate of early timers"),
            Only(RatioBetween("offset", "plain", 0.0, 1.0), "best rate reported"),
        ]
    )


def _delay_relation() -> Relation:
    """The delay falls with each power of ten, for every method."""
    return Every(
        [
            Only(Ordered(), "delay", method, [f"{method}, {receivers} receivers" for receivers in _DECADES])
            for method in METHODS
        ]
    )


def _deviation_relation() -> Relation:
    """The curves' peaks, in percent."""
    bounds: Mapping[Method, tuple[float, float]] = {
        "plain": (14.0, 20.0),
        "offset": (5.0, 7.0),
        "modified offset": (3.0, 5.0),
    }
    return Every([Only(LargestBetween(*bounds[method]), "deviation", method) for method in METHODS])


EXPERIMENTS: Final[Mapping[int, Experiment]] = {
    1: Experiment(_cdf_cases, _cdf_measure, EachBetween(most=_KOLMOGOROV), _TIMES, _cdf_curves),
    2: Experiment(_picture_cases, _picture_measure, _picture_relation(), _PICTURE, _picture_curves),
    3: Experiment(
        _theta_cases,
        _round_means,
        _theta_relation(),
        Figure("receivers", {"reports": "reports in the first round"}, log_x=True),
    ),
    4: Experiment(
        _expectation_cases,
        _expectation_measure,
        NearReference(0.1),
        Figure("receivers", {"reports": "expected reports"}, "formula", log_x=True, log_y=True),
    ),
    5: Experiment(
        _bias_cases, _round_means, _delay_relation(), Figure("receivers", {"delay": "response time, RTT"}, log_x=True)
    ),
    6: Experiment(
        _bias_cases,
        _round_means,
        _deviation_relation(),
        Figure("receivers", {"deviation": "reported above the least rate, %"}, log_x=True),
    ),
}
"""Figure -> its experiment."""
