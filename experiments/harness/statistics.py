"""Means with their confidence intervals, ratios of means, and fairness."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its two-sided confidence interval, which is without bounds when one run is all there is."""

    mean: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Estimate":
        """The estimate in another unit, `factor` above zero."""
        return Estimate(self.mean * factor, self.low * factor, self.high * factor)


def mean_interval(values: Sequence[float]) -> Estimate:
    """The mean of independent runs with Student's interval. ValueError without values."""
    if not values:
        raise ValueError("no values")
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Estimate(mean, -math.inf, math.inf)
    return _around(mean, _squared_error(values), len(values) - 1)


def ratio_interval(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """The ratio of two independent means, by the delta method, with Welch and Satterthwaite's degrees of freedom.

    ValueError without values, or when the second mean is zero."""
    if not numerators or not denominators:
        raise ValueError("no values")
    top, bottom = math.fsum(numerators) / len(numerators), math.fsum(denominators) / len(denominators)
    if bottom == 0:
        raise ValueError("the second mean is zero")
    ratio = top / bottom
    # A part with one run contributes no variance that is known; with both of that kind nothing is known.
    parts = [
        (_squared_error(values) * factor**2, len(values) - 1)
        for values, factor in ((numerators, 1 / bottom), (denominators, ratio / bottom))
        if len(values) > 1
    ]
    if not parts:
        return Estimate(ratio, -math.inf, math.inf)
    total = math.fsum(part for part, _ in parts)
    if total == 0:
        return Estimate(ratio, ratio, ratio)
    freedom = total**2 / math.fsum(part**2 / degrees for part, degrees in parts)
    return _around(ratio, total, freedom)


def paired_ratio_interval(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """The ratio of two means of the same runs, by the delta method with their covariance (what one takes of a link the
    other lacks) and Student's interval.

    ValueError without values, when one has more of them, or when the second mean is zero."""
    if not numerators or not denominators:
        raise ValueError("no values")
    if len(numerators) != len(denominators):
        raise ValueError("not the same runs")
    count = len(numerators)
    bottom = math.fsum(denominators) / count
    if bottom == 0:
        raise ValueError("the second mean is zero")
    ratio = math.fsum(numerators) / count / bottom
    if count == 1:
        return Estimate(ratio, -math.inf, math.inf)
    rest = [(top - ratio * under) / bottom for top, under in zip(numerators, denominators, strict=True)]
    return _around(ratio, _squared_error(rest), count - 1)


def difference_interval(ones: Sequence[float], others: Sequence[float]) -> Estimate:
    """The difference of two independent means with Welch's interval. ValueError without values."""
    if not ones or not others:
        raise ValueError("no values")
    difference = math.fsum(ones) / len(ones) - math.fsum(others) / len(others)
    parts = [(_squared_error(values), len(values) - 1) for values in (ones, others) if len(values) > 1]
    if len(parts) < 2:
        return Estimate(difference, -math.inf, math.inf)
    total = math.fsum(part for part, _ in parts)
    if total == 0:
        return Estimate(difference, difference, difference)
    freedom = total**2 / math.fsum(part**2 / degrees for part, degrees in parts)
    return _around(difference, total, freedom)


def jain_index(shares: Sequence[float]) -> float:
    """Jain's fairness index, 1/n to 1; 0 when nobody gets anything. ValueError without shares."""
    if not shares:
        raise ValueError("no shares")
    squares = math.fsum(share * share for share in shares)
    return math.fsum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def _squared_error(values: Sequence[float]) -> float:
    """The squared standard error of the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)


def _around(mean: float, squared_error: float, freedom: float) -> Estimate:
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(squared_error)
    return Estimate(mean, mean - half, mean + half)
