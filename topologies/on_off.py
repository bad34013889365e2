"""When an on-off source sends."""

import random
from collections.abc import Iterator
from typing import Literal, TypeAlias

Distribution: TypeAlias = Literal["constant", "exponential", "pareto"]
DISTRIBUTIONS = ("constant", "exponential", "pareto")


def on_periods(
    on_s: float | None, off_s: float, distribution: Distribution, shape: float, rng: random.Random
) -> Iterator[tuple[float, float]]:
    """(start, end) of the times on, seconds from the flow's start, without end; one endless time on for `on_s` None.

    `on_s` and `off_s` are means; `shape`, above 1, is the Pareto distribution's."""

    def draw(mean: float) -> float:
        if distribution == "constant" or mean == 0:
            return mean
        if distribution == "exponential":
            return rng.expovariate(1 / mean)
        return mean * (shape - 1) / shape * rng.paretovariate(shape)

    start = 0.0
    while True:
        length = float("inf") if on_s is None else draw(on_s)
        yield start, start + length
        start += length + draw(off_s)
