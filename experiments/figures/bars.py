"""Bars of cases that stand in no order: one column of bars for each quantity."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes

from experiments.harness.statistics import Estimate

COLOURS: Final = ("#0b6e4f", "#c2571a", "#3a5ba0", "#8a3b8f", "#7a7a1f", "#555555")
"""Of all figures; ours first."""
WIDTH_IN, MARGIN_IN, BAR_IN = 2.2, 0.9, 0.26
"""Width of a column, height of a picture without bars, height of a bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One case's."""

    label: str
    series: str
    """Bars of one series have one colour."""
    estimate: Estimate


def half_width(estimate: Estimate) -> float:
    """Of an interval; 0 where there is none."""
    half = estimate.high - estimate.mean
    return half if math.isfinite(half) else 0.0


def draw_columns(
    axes_row: Sequence[Axes], columns: Mapping[str, Sequence[Bar]], labels: Mapping[str, str], series: Sequence[str]
) -> None:
    """Each quantity's bars in axes of their own, the first case on top. The axes share their y axis.

    `columns` and `labels`: quantity -> its bars, its name on the axis; `series`: in the order of their colours."""
    for axes, (quantity, label) in zip(axes_row, labels.items(), strict=True):
        bars = columns.get(quantity, ())
        axes.barh(
            [bar.label for bar in bars],
            [bar.estimate.mean for bar in bars],
            xerr=[half_width(bar.estimate) for bar in bars],
            color=[COLOURS[series.index(bar.series) % len(COLOURS)] for bar in bars],
            height=0.7,
            error_kw={"lw": 0.8},
        )
        axes.set_xlim(0, None if any(bar.estimate.mean > 0 for bar in bars) else 1)
        axes.set_xlabel(label, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    axes_row[0].invert_yaxis()
