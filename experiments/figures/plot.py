"""A row's figure, as the paper draws it: its axes, our means with their intervals or one run over time, and what they
are held against."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator

from experiments.figures.bars import BAR_IN, COLOURS, MARGIN_IN, WIDTH_IN, Bar, draw_columns, half_width
from experiments.figures.svg import STYLE, new_canvas, to_svg
from experiments.harness.reproduce import RowResult
from experiments.harness.row import Bars, Curve, Drawing, Figure, Outcome, Plane, Timeline
from experiments.harness.statistics import mean_interval

_MARKERS = "os^vD*"
_STYLES = ("-", "--", "-.")
"""Of lines over time: the next one when the colours are used up."""
_REFERENCE = "#222222"
_GRID = "#e4e7eb"
_MOST_MARKERS = 300
"""Of one kind, each a shape of its own in the file; more are one picture of pixels (ours)."""
_ASIDE = 0.12
"""Between points of two series at one named place."""
_SIZE_IN = (5.6, 3.4)
_TIMELINE_IN = (8.4, 3.4)
_PLANE_IN = (5.2, 4.8)


def draw(result: RowResult) -> str:
    """The figure as SVG; the same result gives the same text. ValueError without anything to draw."""
    if not result.outcomes or result.row.experiment is None:
        raise ValueError(f"{result.row.id}: nothing was measured")
    figure = result.row.experiment.figure
    with mpl.rc_context({**STYLE, "svg.hashsalt": result.row.id}):
        if isinstance(figure, Timeline):
            canvas = _timelines(_at_places(result) if figure.by_place else result.curves, figure)
        elif isinstance(figure, Plane):
            canvas = _plane(result.curves, figure)
        elif isinstance(figure, Bars):
            canvas = _bars(result.outcomes, figure)
        else:
            canvas = _quantities(result.outcomes, figure)
        canvas.suptitle(f"{result.row.id}: {result.row.title}", fontsize=9, x=0.01, ha="left", wrap=True)
        return to_svg(canvas)


def shows_values(figure: Drawing) -> bool:
    """Whether all that is drawn is values of runs, which results have, and no curves, which they have not."""
    return isinstance(figure, Figure | Bars)


def write(result: RowResult, folder: Path) -> None:
    """Write ROW.svg. ValueError without anything to draw; OSError."""
    (folder / f"{result.row.id}.svg").write_text(draw(result), encoding="utf-8")


# --- one quantity over the cases


def _quantities(all_outcomes: Sequence[Outcome], figure: Figure) -> Canvas:
    """Axes for each quantity that the figure names (all, if it names none that was measured)."""
    measured = list(dict.fromkeys(outcome.quantity for outcome in all_outcomes))
    quantities = [quantity for quantity in measured if quantity in figure.y_labels] or measured
    canvas = new_canvas(_SIZE_IN[0] * len(quantities), _SIZE_IN[1])
    for axes, quantity in zip(canvas.subplots(1, len(quantities), squeeze=False)[0], quantities, strict=True):
        outcomes = [outcome for outcome in all_outcomes if outcome.quantity == quantity]
        if figure.x_label:
            _draw_curves(axes, outcomes, figure)
        else:
            _draw_bars(axes, outcomes)
        axes.set_ylabel(figure.y_labels.get(quantity, quantity))
        axes.spines[["top", "right"]].set_visible(False)
    return canvas


def _references(outcomes: Sequence[Outcome], series: str) -> list[tuple[float, float]]:
    """What a series is compared with, by x."""
    of_series = (outcome for outcome in outcomes if outcome.case.series == series)
    return [(outcome.case.x, outcome.reference) for outcome in of_series if outcome.reference is not None]


def _draw_curves(axes: Axes, all_outcomes: Sequence[Outcome], figure: Figure) -> None:
    all_outcomes = sorted(all_outcomes, key=lambda outcome: outcome.case.x)
    all_series = list(dict.fromkeys(outcome.case.series for outcome in all_outcomes))
    references = {series: _references(all_outcomes, series) for series in all_series}
    shared = {point for points in references.values() for point in points}
    if shared and len({x for x, _ in shared}) == len(shared):
        references = {"": sorted(shared)}  # what all series are compared with is one line
    for number, points in enumerate(filter(None, references.values())):
        label = "" if number else figure.reference_label
        axes.plot(*zip(*points, strict=True), "--" if len(points) > 1 else "_", color=_REFERENCE, lw=1, label=label)
    for number, series in enumerate(all_series):
        outcomes = [outcome for outcome in all_outcomes if outcome.case.series == series]
        means, halves = _means(outcomes)
        aside = (number - (len(all_series) - 1) / 2) * _ASIDE if figure.places else 0.0
        axes.errorbar(
            [outcome.case.x + aside for outcome in outcomes],
            means,
            yerr=halves,
            fmt=_MARKERS[(number + number // len(COLOURS)) % len(_MARKERS)] + ("" if figure.places else "-"),
            color=COLOURS[number % len(COLOURS)],
            markersize=4,
            linewidth=1.2,
            capsize=3,
            label=series or "ours",
        )
    axes.set_xlabel(figure.x_label)
    if figure.places:
        axes.set_xticks(range(len(figure.places)), figure.places)
        axes.set_xlim(-0.5, len(figure.places) - 0.5)
    if figure.log_x:
        x = sorted({outcome.case.x for outcome in all_outcomes})
        axes.set_xscale("log")
        axes.set_xticks(x, [f"{value:g}" for value in x])
        axes.minorticks_off()
    if figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    else:
        axes.set_ylim(0, 1.05 * max(axes.dataLim.y1, 0.0) or None)
    axes.grid(color=_GRID, linewidth=0.7)
    axes.legend(frameon=False)


def _draw_bars(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    means, halves = _means(outcomes)
    axes.bar([outcome.case.label for outcome in outcomes], means, yerr=halves, color=COLOURS[0], width=0.5, capsize=4)


def _bars(all_outcomes: Sequence[Outcome], figure: Bars) -> Canvas:
    cases = {outcome.case.label: outcome.case for outcome in all_outcomes}
    columns: dict[str, list[Bar]] = {}
    for outcome in all_outcomes:
        bar = Bar(outcome.case.label, outcome.case.series, mean_interval(outcome.values))
        columns.setdefault(outcome.quantity, []).append(bar)
    canvas = new_canvas(WIDTH_IN * (len(figure.x_labels) + 0.5), MARGIN_IN + BAR_IN * len(cases))
    axes_row = canvas.subplots(1, len(figure.x_labels), squeeze=False, sharey=True)[0]
    draw_columns(axes_row, columns, figure.x_labels, list(dict.fromkeys(case.series for case in cases.values())))
    return canvas


def _means(outcomes: Sequence[Outcome]) -> tuple[list[float], list[float]]:
    """Means, and half the width of their intervals (0 where there is none)."""
    estimates = [mean_interval(outcome.values) for outcome in outcomes]
    return [estimate.mean for estimate in estimates], [half_width(estimate) for estimate in estimates]


# --- one run over time


def _at_places(result: RowResult) -> dict[str, list[Curve]]:
    """The place's cases -> their lines. The first case's label, without its last part, is the place's."""
    cases = list({outcome.case.label: outcome.case for outcome in result.outcomes}.values())
    found: dict[float, tuple[str, list[Curve]]] = {}
    for case in cases:
        _, lines = found.setdefault(case.x, (case.label.rpartition(",")[0], []))
        lines += result.curves.get(case.label, ())
    return {label: lines for label, lines in found.values() if lines}


def _timelines(curves: Mapping[str, Sequence[Curve]], figure: Timeline) -> Canvas:
    """Axes for each case, one below the other."""
    if not curves:
        raise ValueError("no run left anything to draw")
    canvas = new_canvas(_TIMELINE_IN[0], _TIMELINE_IN[1] * len(curves))
    all_axes = canvas.subplots(len(curves), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (label, lines) in zip(all_axes, curves.items(), strict=True):
        _draw_timeline(axes, lines, figure)
        axes.set_ylabel(figure.y_label)
        if len(curves) > 1:
            axes.set_title(label, fontsize=9)
    all_axes[-1].set_xlabel(figure.x_label)
    return canvas


def _draw_timeline(axes: Axes, lines: Sequence[Curve], figure: Timeline) -> None:
    looks = itertools.cycle(itertools.product(_STYLES, COLOURS))
    for line in lines:
        style, colour = (":", _REFERENCE) if line.is_reference else next(looks)
        if line.marker:
            is_dense = len(line.points) > _MOST_MARKERS
            axes.plot(
                *zip(*line.points, strict=True), line.marker, color=colour, ms=4, label=line.label, rasterized=is_dense
            )
            continue
        axes.plot(*zip(*line.points, strict=True), linestyle=style, color=colour, linewidth=1.1, label=line.label)
    if figure.log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    if figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(color=_GRID, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


# --- points of a plane


def _plane(curves: Mapping[str, Sequence[Curve]], figure: Plane) -> Canvas:
    """One picture of all cases, with equal scales on both axes."""
    lines = [line for of_case in curves.values() for line in of_case]
    drawn = [line.points for line in lines if not line.is_reference]
    if not drawn:
        raise ValueError("no run left anything to draw")
    canvas = new_canvas(*_PLANE_IN)
    axes = canvas.subplots()
    if figure.kind == "arrows":
        (x, y), (to_x, to_y) = (list(zip(*(points[at] for points in drawn), strict=True)) for at in (0, -1))
        ahead = [[end - start for start, end in zip(*pair, strict=True)] for pair in ((x, to_x), (y, to_y))]
        axes.quiver(x, y, *ahead, angles="xy", scale_units="xy", scale=1, width=0.004, color=COLOURS[0])
    else:
        points = [point for of_case in drawn for point in of_case]
        most = math.ceil(max(max(point) for point in points))
        x, y = zip(*points, strict=True)
        *_, image = axes.hist2d(x, y, bins=most, range=[[0, most], [0, most]], cmap="Greys", rasterized=True)
        canvas.colorbar(image, ax=axes, label="samples")
    for line in lines:
        if line.is_reference:
            axes.plot(*zip(*line.points, strict=True), ":", color=_REFERENCE, linewidth=1.1, label=line.label)
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label, aspect="equal", xlim=(0, None), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    if any(line.is_reference for line in lines):
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return canvas
