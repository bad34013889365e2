"""The comparison of all protocols as one table and one page of plots, from what is kept of its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import matplotlib as mpl

from experiments.figures.bars import BAR_IN, MARGIN_IN, WIDTH_IN, Bar, draw_columns, half_width
from experiments.figures.svg import STYLE, new_canvas, to_svg
from experiments.harness.kept import Kept, parse_kept
from experiments.harness.row import Bars, Row
from experiments.harness.statistics import mean_interval

NAME: Final = "compare"
"""Of both files."""


@dataclass(frozen=True, slots=True)
class Network:
    """What was measured in one of the networks."""

    title: str
    labels: Mapping[str, str]
    """Quantity -> what it is called."""
    columns: Mapping[str, Sequence[Bar]]
    """Quantity -> each contender's."""


def write(folder: Path, rows: Sequence[Row]) -> bool:
    """Write compare.md and compare.svg beside the results of all `rows`; False when one of them is not there.

    OSError, ValueError when they cannot be read or written."""
    paths = [folder / f"{row.id}.json" for row in rows]
    if not all(path.exists() for path in paths):
        return False
    networks = [_network(row, parse_kept(path.read_bytes(), path.name)) for row, path in zip(rows, paths, strict=True)]
    (folder / f"{NAME}.md").write_text(table(networks), encoding="utf-8")
    (folder / f"{NAME}.svg").write_text(page(networks), encoding="utf-8")
    return True


def _network(row: Row, kept: Kept) -> Network:
    if row.experiment is None or not isinstance(row.experiment.figure, Bars):
        raise ValueError(f"{row.id}: not a row of bars")
    series = {case.label: case.series for case in row.experiment.cases(False)}
    columns: dict[str, list[Bar]] = {}
    for entry in kept.cases:
        values = [value for value in entry.values if value is not None]
        if len(values) < len(entry.values):
            raise ValueError(f"{row.id}: {entry.case}: not all runs are there")
        bar = Bar(entry.case, series.get(entry.case, entry.case), mean_interval(values))
        columns.setdefault(entry.quantity, []).append(bar)
    return Network(row.title.removeprefix("all protocols: "), row.experiment.figure.x_labels, columns)


def table(networks: Sequence[Network]) -> str:
    """Markdown: a line for each quantity in each network, a column for each contender; half of the 95 % interval
    after each mean."""
    contenders = list(dict.fromkeys(bar.label for one in networks for bars in one.columns.values() for bar in bars))
    lines = [["", "", *contenders], ["---"] * (2 + len(contenders))]
    for network in networks:
        for number, (quantity, label) in enumerate(network.labels.items()):
            found = {bar.label: _text(bar) for bar in network.columns.get(quantity, ())}
            title = "" if number else f"**{network.title}**"
            lines.append([title, label, *(found.get(contender, "") for contender in contenders)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _text(bar: Bar) -> str:
    mean, half = bar.estimate.mean, half_width(bar.estimate)
    # Three digits of the mean, two of them decimals at most; the interval's half has as many.
    decimals = 2 if 0 < mean < 10 else 1 if 10 <= mean < 100 else 0
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f}" if half else f"{mean:,.{decimals}f}"


def page(networks: Sequence[Network]) -> str:
    """SVG: one picture of bars below the other."""
    series = list(dict.fromkeys(bar.series for one in networks for bars in one.columns.values() for bar in bars))
    columns = max(len(network.labels) for network in networks)
    heights = [MARGIN_IN + BAR_IN * max(map(len, network.columns.values())) for network in networks]
    with mpl.rc_context({**STYLE, "svg.hashsalt": NAME}):
        canvas = new_canvas(WIDTH_IN * (columns + 0.5), sum(heights))
        parts = canvas.subfigures(len(networks), 1, squeeze=False, height_ratios=heights)[:, 0]
        for part, network in zip(parts, networks, strict=True):
            part.suptitle(network.title, fontsize=9, x=0.01, ha="left")
            axes_row = part.subplots(1, len(network.labels), squeeze=False, sharey=True)[0]
            draw_columns(axes_row, network.columns, network.labels, series)
        return to_svg(canvas)
