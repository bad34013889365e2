"""A row's figure, as the paper draws it: its axes, our means with their intervals, and what they are held against."""

import io
import math
from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from experiments.reproduce import RowResult
from experiments.row import Figure, Outcome
from experiments.statistics import mean_interval

_OURS = "#0b6e4f"
_REFERENCE = "#222222"
_SIZE_IN = (5.6, 3.4)


def draw(result: RowResult) -> str:
    """The figure as SVG; the same result gives the same text. ValueError without outcomes."""
    if not result.outcomes or result.row.experiment is None:
        raise ValueError(f"{result.row.id}: nothing was measured")
    figure = result.row.experiment.figure
    quantities = list(dict.fromkeys(outcome.quantity for outcome in result.outcomes))
    with mpl.rc_context({"svg.hashsalt": result.row.id, "font.size": 9}):
        canvas = Canvas(figsize=(_SIZE_IN[0] * len(quantities), _SIZE_IN[1]), layout="constrained")
        FigureCanvasSVG(canvas)
        canvas.suptitle(f"{result.row.id}: {result.row.title}", fontsize=9, x=0.01, ha="left", wrap=True)
        all_axes = canvas.subplots(1, len(quantities), squeeze=False)[0]
        for axes, quantity in zip(all_axes, quantities, strict=True):
            outcomes = [outcome for outcome in result.outcomes if outcome.quantity == quantity]
            if figure.x_label:
                _draw_curve(axes, outcomes, figure)
            else:
                _draw_bars(axes, outcomes)
            axes.set_ylabel(figure.y_labels.get(quantity, quantity))
            axes.spines[["top", "right"]].set_visible(False)
        output = io.StringIO()
        canvas.savefig(output, format="svg", metadata={"Date": None, "Creator": None})
    text = output.getvalue()
    return "\n".join(line.rstrip() for line in text[text.index("<svg") :].splitlines()) + "\n"


def _draw_curve(axes: Axes, outcomes: Sequence[Outcome], figure: Figure) -> None:
    outcomes = sorted(outcomes, key=lambda outcome: outcome.case.x)
    x = [outcome.case.x for outcome in outcomes]
    references = [(outcome.case.x, outcome.reference) for outcome in outcomes if outcome.reference is not None]
    if references:
        axes.plot(*zip(*references, strict=True), "--", color=_REFERENCE, linewidth=1, label=figure.reference_label)
    means, halves = _means(outcomes)
    axes.errorbar(x, means, yerr=halves, fmt="o-", color=_OURS, markersize=4, linewidth=1.2, capsize=3, label="ours")
    axes.set_xlabel(figure.x_label)
    if figure.log_x:
        axes.set_xscale("log")
        axes.set_xticks(x, [f"{value:g}" for value in x])
        axes.minorticks_off()
    if figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(color="#e4e7eb", linewidth=0.7)
    axes.legend(frameon=False)


def _draw_bars(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    means, halves = _means(outcomes)
    axes.bar([outcome.case.label for outcome in outcomes], means, yerr=halves, color=_OURS, width=0.5, capsize=4)


def _means(outcomes: Sequence[Outcome]) -> tuple[list[float], list[float]]:
    """Means, and half the width of their intervals (0 where there is none)."""
    estimates = [mean_interval(outcome.values) for outcome in outcomes]
    halves = [estimate.high - estimate.mean for estimate in estimates]
    return [estimate.mean for estimate in estimates], [half if math.isfinite(half) else 0.0 for half in halves]
