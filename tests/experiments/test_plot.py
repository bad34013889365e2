"""How figures are drawn."""

import re

from experiments.plot import draw
from experiments.relations import EachBetween
from experiments.reproduce import Options, RowResult
from experiments.row import Case, Curve, Experiment, Outcome, Row, Timeline


def test_more_lines_than_colours_still_differ() -> None:
    experiment = Experiment(
        lambda _: [Case("one", {})], lambda _: {}, EachBetween(), Timeline("rate"), curves=lambda _: []
    )
    row = Row("x-1", "x", "sim", "title", "paper", "counts", "unit", experiment)
    result = RowResult(row, Options(), [Outcome(Case("one", {}), "rate", (1.0,))])
    result.curves["one"] = [Curve(f"line {number}", [(0.0, number), (1.0, number)]) for number in range(18)]
    drawn = re.findall(r'<path d="[^"]*" [^>]*style="(fill: none; stroke[^"]*stroke-width: 1.1[^"]*)"', draw(result))
    assert len(set(drawn)) == 18
