"""Relations between measurements, as rows state them. Each judges means over seeds."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from experiments.harness.row import Case, Judgement, Outcome, Relation, least_runs
from experiments.harness.statistics import (
    Estimate,
    difference_interval,
    mean_interval,
    paired_ratio_interval,
    ratio_interval,
)


@dataclass(frozen=True, slots=True)
class NearReference:
    """Every mean is within a relative tolerance of its case's reference. Measured: mean over reference."""

    tolerance: float
    """0.05: from 95 % to 105 % of it."""

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when an outcome has no reference, or there are no outcomes."""
        ratios = []
        for outcome in outcomes:
            if not outcome.reference:
                raise ValueError(f"{_name(outcome)}: nothing to compare with")
            ratios.append((outcome, mean_interval(outcome.values).scaled(1 / outcome.reference)))
        return _within(ratios, 1 - self.tolerance, 1 + self.tolerance, scale=1.0)


@dataclass(frozen=True, slots=True)
class EachBetween:
    """Every mean lies between two bounds (infinite ones bind nothing)."""

    least: float = -math.inf
    most: float = math.inf

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when there are no outcomes."""
        return _within([(outcome, mean_interval(outcome.values)) for outcome in outcomes], self.least, self.most)


@dataclass(frozen=True, slots=True)
class IntervalsBetween:
    """Every mean lies between two bounds beyond doubt: both ends of its interval do."""

    least: float = -math.inf
    most: float = math.inf

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when there are no outcomes."""
        ends = []
        for outcome in outcomes:
            interval = mean_interval(outcome.values)
            margin = min(_margin(end, self.least, self.most, 0.0) for end in (interval.low, interval.high))
            ends.append(Judgement(margin >= 0, interval, outcome.quantity, _name(outcome), margin))
        return _closest(ends)


@dataclass(frozen=True, slots=True)
class LargestBetween:
    """The largest mean lies between two bounds: a curve's peak."""

    least: float
    most: float

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when there are no outcomes."""
        if not outcomes:
            raise ValueError("nothing was measured")
        means = [(outcome, mean_interval(outcome.values).mean) for outcome in outcomes]
        # What is no number may be the peak: it is the one to judge then.
        peak, _ = max(means, key=lambda item: math.inf if math.isnan(item[1]) else item[1])
        return EachBetween(self.least, self.most).judge([peak])


@dataclass(frozen=True, slots=True)
class RatioBetween:
    """One case's mean over another's lies between two bounds, for every quantity. Measured: that ratio."""

    of: str
    to: str
    """Labels of cases."""
    least: float
    most: float = math.inf

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when one of the two cases was not measured."""
        below = {outcome.quantity: outcome for outcome in outcomes if outcome.case.label == self.to}
        ratios = []
        for outcome in outcomes:
            if outcome.case.label == self.of:
                other = _found(below.get(outcome.quantity), self.to)
                ratios.append((outcome, ratio_interval(outcome.values, other.values)))
        if not ratios:
            raise ValueError(f"{self.of}: not measured")
        return _within(ratios, self.least, self.most)


@dataclass(frozen=True, slots=True)
class SeriesRatioBetween:
    """Each case of one series over the other series' at the same `x`, for every quantity. Measured: that ratio."""

    of: str
    to: str
    """Series."""
    least: float
    most: float = math.inf

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when a case lacks its counterpart, or the series has none."""
        below = {(one.quantity, one.case.x): one for one in outcomes if one.case.series == self.to}
        ratios = []
        for outcome in outcomes:
            if outcome.case.series == self.of:
                other = _found(below.get((outcome.quantity, outcome.case.x)), f"{self.to}, {outcome.case.label}")
                ratios.append((outcome, ratio_interval(outcome.values, other.values)))
        if not ratios:
            raise ValueError(f"{self.of}: not measured")
        return _within(ratios, self.least, self.most)


@dataclass(frozen=True, slots=True)
class OverCases:
    """A relation between averages over all cases, as of a paper that varies something and shows the average."""

    relation: Relation

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError as the relation's, or when some cases have more runs than others."""
        averages = []
        for quantity in dict.fromkeys(outcome.quantity for outcome in outcomes):
            runs = [outcome.values for outcome in outcomes if outcome.quantity == quantity]
            if len({len(values) for values in runs}) > 1:
                raise ValueError(f"{quantity}: some cases have more runs than others")
            means = [math.fsum(values) / len(values) for values in zip(*runs, strict=True)]
            averages.append(Outcome(Case("average", {}), quantity, means))
        return self.relation.judge(averages)


@dataclass(frozen=True, slots=True)
class OfReference:
    """A relation between the cases' values, each over its own reference."""

    relation: Relation

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError as the relation's, or when an outcome has no reference."""
        relative = []
        for outcome in outcomes:
            if not outcome.reference:
                raise ValueError(f"{outcome.case.label}: no reference")
            relative.append(replace(outcome, values=[value / outcome.reference for value in outcome.values]))
        return self.relation.judge(relative)


@dataclass(frozen=True, slots=True)
class QuantitiesRatioBetween:
    """One quantity over another lies between two bounds in every case. Measured: that ratio of the same runs' means."""

    of: str
    to: str
    least: float
    most: float = math.inf

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when a case lacks one of the two."""
        below = {outcome.case.label: outcome for outcome in outcomes if outcome.quantity == self.to}
        ratios = []
        for outcome in outcomes:
            if outcome.quantity == self.of:
                other = _found(below.get(outcome.case.label), f"{self.to}, {outcome.case.label}")
                ratios.append((outcome, paired_ratio_interval(outcome.values, other.values)))
        if not ratios:
            raise ValueError(f"{self.of}: not measured")
        return _within(ratios, self.least, self.most)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Each case's mean is above (or below) the one's before it, with 95 % confidence that there is a difference.

    Measured: the difference of the two neighbours that are least apart, in the direction that is wanted."""

    rises: bool = False
    """By default values fall from case to case."""
    least_runs: ClassVar[int] = 2
    """A single run has no interval."""

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError when a quantity has fewer than two cases, or a case a single run only."""
        differences = []
        for quantity in dict.fromkeys(outcome.quantity for outcome in outcomes):
            row = [outcome for outcome in outcomes if outcome.quantity == quantity]
            if len(row) < 2:
                raise ValueError(f"{quantity}: one case has no order")
            for before, after in itertools.pairwise(row):
                upper, lower = (after, before) if self.rises else (before, after)
                if len(upper.values) < 2 or len(lower.values) < 2:
                    raise ValueError(f"{_name(after)}: an order needs at least two runs of each case")
                where = f"{_name(before)} to {after.case.label}"
                differences.append((quantity, where, difference_interval(upper.values, lower.values)))
        if not differences:
            raise ValueError("nothing was measured")
        quantity, where, least = min(differences, key=lambda item: _or_least(item[2].low))
        margin = _or_least(least.low / (abs(least.mean) or 1.0))
        return Judgement(least.low > 0, least, quantity, where, margin)


@dataclass(frozen=True, slots=True)
class Only:
    """A relation between some of the outcomes: one quantity, one line of the figure, some cases."""

    relation: Relation
    quantity: str | None = None
    series: str | None = None
    labels: Sequence[str] | None = None

    @property
    def least_runs(self) -> int:
        """The relation's."""
        return least_runs(self.relation)

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError as the relation's, which is told of nothing else."""
        return self.relation.judge(
            [
                outcome
                for outcome in outcomes
                if self.quantity in (None, outcome.quantity)
                and self.series in (None, outcome.case.series)
                and (self.labels is None or outcome.case.label in self.labels)
            ]
        )


@dataclass(frozen=True, slots=True)
class Every:
    """All of several relations. Measured: what the one says that is closest to breaking, or is broken most."""

    relations: Sequence[Relation]

    @property
    def least_runs(self) -> int:
        """What the one needs that needs most."""
        return max(map(least_runs, self.relations), default=1)

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError as the relations'."""
        return _closest([relation.judge(outcomes) for relation in self.relations])


def _found(outcome: Outcome | None, name: str) -> Outcome:
    """The outcome called `name`, which may be missing (ValueError)."""
    if outcome is None:
        raise ValueError(f"{name}: not measured")
    return outcome


def _within(found: Sequence[tuple[Outcome, Estimate]], least: float, most: float, scale: float = 0.0) -> Judgement:
    """The judgement of the estimate with the smallest margin to a bound. A margin is a share of `scale`, or where that
    is 0 of the bound itself."""
    margins = [(outcome, estimate, _margin(estimate.mean, least, most, scale)) for outcome, estimate in found]
    return _closest(
        [
            Judgement(margin >= 0, estimate, outcome.quantity, _name(outcome), margin)
            for outcome, estimate, margin in margins
        ]
    )


def _margin(value: float, least: float, most: float, scale: float) -> float:
    """`Judgement.margin` of a value between two bounds."""
    if not math.isfinite(value):
        return -math.inf
    room = ((value - least, scale or abs(least)), (most - value, scale or abs(most)))
    shares = (width / share if share else math.copysign(1.0, width) for width, share in room if math.isfinite(width))
    return min(shares, default=math.inf)


def _closest(judgements: Sequence[Judgement]) -> Judgement:
    """The one that comes closest to breaking its relation, or breaks it most; the first of equal ones."""
    if not judgements:
        raise ValueError("nothing was measured")
    return min(judgements, key=lambda judgement: (judgement.holds, judgement.margin))


def _or_least(number: float) -> float:
    """The number; the least there is for what is none, so that it is what decides."""
    return -math.inf if math.isnan(number) else number


def _name(outcome: Outcome) -> str:
    return f"{outcome.quantity}, {outcome.case.label}" if outcome.case.label else outcome.quantity
