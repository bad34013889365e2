"""Beyond the TFMCC paper: feedback rounds behind switches that suppress reports (docs/assist.md), by Monte Carlo.

Everybody becomes congested as a round begins, with rates as in Fig. 6. Times are in maximum RTTs, as in
`tfmcc_feedback.py`, which has the rounds without switches. Nothing is lost.
"""

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.tfmcc.feedback import (
    DELAY,
    ECHO_RTTS,
    LEAST_RATIO,
    THETA,
    Floats,
    reporters,
    timer_delays,
    uniform,
)

_COUNTS: Final = (10, 30, 100, 300, 1000, 3000, 10_000)
_FAN_OUT: Final = 15
"""Receivers of an edge switch, and switches of one further up: a port for each, and one upwards (ours)."""
_MOST: Final = 8
"""Reports that a switch lets pass in a round."""
_HANDFUL: Final = 10.0
_WITH, _WITHOUT = "with assistance", "without"
_UP: Final = ECHO_RTTS / 2
"""From a receiver to the sender; as long back."""


class _Switch:
    """Lets a report through when its rate is below what the sender has confirmed, and below all that passed and may
    still be confirmed; so many in a round."""

    def __init__(self) -> None:
        self._rate = np.inf
        self._since = -np.inf
        self._passed = 0

    def passes(self, rate: float, confirmed: float, now: float) -> bool:
        """A report arrives; `confirmed`: what the sender's data said here last."""
        if now - self._since >= ECHO_RTTS:
            self._rate, self._since = np.inf, now
        if self._passed >= _MOST or rate >= min(self._rate, confirmed):
            return False
        self._rate = rate
        self._passed += 1
        return True


def assisted_round(delays: Floats, rates: Floats) -> list[tuple[float, float]]:
    """(Time, rate) of each report that reaches the sender. Switches stand at equal distances, the first ones at the
    receivers; `delays`: when the timers run out."""
    levels = 1
    while _FAN_OUT**levels < len(rates):
        levels += 1
    hop = _UP / levels
    switches: dict[tuple[int, int], _Switch] = {}
    heard: list[tuple[float, float]] = []

    def confirmed(down: float, now: float) -> float:
        """The least rate of which the sender's data has told at a place so far below it."""
        return min((rate for at, rate in heard if at + down <= now), default=np.inf)

    events = [(float(delays[index]), 0, int(index)) for index in np.argsort(delays, kind="stable")]
    while events:
        now, level, index = heapq.heappop(events)
        rate = float(rates[index])
        if level == levels:
            heard.append((now, rate))
            continue
        known = confirmed(_UP - level * hop, now)
        if level == 0 and known <= rate:
            continue  # its timer was cancelled (2.5.2)
        switch = switches.setdefault((level, index // _FAN_OUT ** (level + 1)), _Switch())
        if switch.passes(rate, known, now):
            heapq.heappush(events, (now + hop, level + 1, index))
    return heard


def _plain_round(delays: Floats, rates: Floats) -> list[tuple[float, float]]:
    return [(float(delays[index]) + _UP, float(rates[index])) for index in reporters(delays, rates, THETA)]


def _cases(quick: bool) -> Sequence[Case]:
    return [
        Case(
            _label(count, series),
            {
                "receivers": count,
                "assisted": series == _WITH,
                "rounds": max(10, (10_000 if quick else 30_000) // count),
            },
            "formula",
            x=count,
            series=series,
        )
        for series in (_WITHOUT, _WITH)
        for count in _COUNTS
    ]


def _label(count: int, series: str) -> str:
    return f"{count} {series}"


def _measure(run: Finished) -> Mapping[str, float]:
    """Means over rounds: reports that reach the sender, by how much the least of them misses the least, in percent,
    and when the sender knows a rate within theta of that."""
    document = run.run.document
    receivers, assisted = document["receivers"], document["assisted"]
    rng = np.random.default_rng((run.run.seed, receivers))
    counts, deviations, reactions = [], [], []
    for _ in range(document["rounds"]):
        rates = 1 - (1 - LEAST_RATIO) * rng.random(receivers)
        delays = timer_delays(uniform(rng, receivers), rates, "modified offset")
        heard = assisted_round(delays / DELAY, rates) if assisted else _plain_round(delays, rates)
        least = rates.min()
        counts.append(len(heard))
        deviations.append(min(rate for _, rate in heard) / least - 1)
        reactions.append(min(at for at, rate in heard if rate * (1 - THETA) <= least))
    return {
        "reports": float(np.mean(counts)),
        "deviation": float(np.mean(deviations)) * 100,
        "reaction": float(np.mean(reactions)),
    }


ROWS: Final = (
    Row(
        "tfmcc-assist-round",
        "tfmcc",
        "formulas",
        "10 to 10,000 receivers that become congested at once, with and without assistance",
        "not in the paper",
        f"with: at most {_HANDFUL:g} reports, the least nearer to the true one than without, and known sooner",
        {"reports": "reports with assistance", "deviation": "with / without", "reaction": "with / without"},
        Experiment(
            _cases,
            _measure,
            Every(
                [
                    Only(EachBetween(0.0, _HANDFUL), "reports", _WITH),
                    *(
                        Only(RatioBetween(_label(count, _WITH), _label(count, _WITHOUT), 0.0, 1.0), quantity)
                        for quantity in ("deviation", "reaction")
                        for count in _COUNTS
                    ),
                ]
            ),
            Figure(
                "receivers",
                {"reports": "reports", "deviation": "least rate reported, % above", "reaction": "reaction, RTTs"},
                log_x=True,
            ),
        ),
    ),
)
