"""A survey's pictures, as SVG to be put into a page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from experiments.figures.bars import COLOURS
from experiments.figures.svg import STYLE, new_canvas, to_svg
from experiments.survey.outcome import ENOUGH, FAIR, RECOVERY_S, Outcome
from experiments.survey.scenario import window_s

Bounds: TypeAlias = tuple[float, ...]

QUANTITIES: Final[Mapping[str, tuple[str, Bounds]]] = {
    "of_tcp": ("goodput, of what TCP gets (alone)", (ENOUGH,)),
    "share": ("share beside TCPs", FAIR),
    "of_link": ("goodput, of the link (alone)", ()),
    "queue_median_s": ("queueing delay, s (median)", ()),
    "queue_p99_s": ("queueing delay, s (99 %)", ()),
    "dropped": ("dropped by the bottleneck's queue", ()),
    "variation": ("coefficient of variation", ()),
    "recovery_s": ("recovery after a change, s", (RECOVERY_S,)),
    "feedback": ("feedback packets for a packet of data", ()),
    "stall_s": ("longest stall, s", ()),
}
"""Column -> what is drawn of it, and lines at what is asked for."""
_ALONE: Final = ("of_tcp", "of_link")
SCATTERED: Final[Mapping[str, str]] = {
    "rate_bps": "bottleneck, bit/s",
    "rtt_s": "round trip, s",
    "queue": "queue",
    "queue_bdp": "queue, BDP",
    "ecn": "ECN",
    "receivers": "receivers",
    "loss": "loss",
    "loss_rate": "loss rate",
    "tcps": "TCPs beside it",
    "back": "way back",
    "change": "change",
    "late": "late joins",
    "dies": "a receiver dies",
    "slow_bps": "a slow receiver's rate, bit/s",
}
"""Column -> what a scatter's axis says."""
_LOGARITHMIC: Final = ("rate_bps", "rtt_s", "queue_bdp", "receivers", "loss_rate", "slow_bps")
_PANEL_IN: Final = (3.6, 2.6)
_COLUMNS: Final = 3
_SOFT: Final = "#9aa3ad"
"""The colour of what something is compared with."""
_LEAST: Final = 1e-3
"""Where a logarithmic axis begins: less is drawn there."""


def distributions(table: pl.DataFrame, protocols: Sequence[str]) -> str:
    """The share of the cells (vertical) that have no more than so much, of each quantity, by protocol."""
    return _panels(list(QUANTITIES), lambda axes, name: _distribution(axes, table, protocols, name), protocols)


def scatter(table: pl.DataFrame, protocols: Sequence[str]) -> str:
    """What a protocol has, of what TCP gets in its place, over each dimension of the networks."""
    return _panels(list(SCATTERED), lambda axes, name: _scatter(axes, table, protocols, name), protocols)


def course(outcome: Outcome) -> str:
    """The rate of the slowest receiver over time, beside that of the TCP in the session's place. ValueError when it was
    not run."""
    if outcome.metrics is None or outcome.reference is None:
        raise ValueError(f"cell {outcome.cell.number} of {outcome.protocol} has no results")
    window = window_s(outcome.cell)
    with mpl.rc_context({**STYLE, "svg.hashsalt": "course"}):
        canvas = new_canvas(4.2, 1.6)
        axes = canvas.subplots()
        for rates, colour, label in (
            (outcome.reference["rates_bps"], _SOFT, "TCP"),
            (outcome.metrics["rates_bps"], COLOURS[0], outcome.protocol),
        ):
            times = [window * (place + 0.5) for place in range(len(rates))]
            axes.plot(times, [bps / 1e6 for bps in rates], color=colour, linewidth=1, label=label)
        if outcome.cell.change is not None:
            axes.axvline(outcome.cell.change_s, color=_SOFT, linewidth=0.8, linestyle=":")
        axes.set_ylim(bottom=0)
        axes.set_xlabel("s")
        axes.set_ylabel("Mbit/s")
        axes.spines[["top", "right"]].set_visible(False)
        return to_svg(canvas)


def _panels(names: Sequence[str], draw: Callable[[Axes, str], None], protocols: Sequence[str]) -> str:
    lines = -(-len(names) // _COLUMNS)
    with mpl.rc_context({**STYLE, "svg.hashsalt": names[0]}):
        canvas = new_canvas(_PANEL_IN[0] * _COLUMNS, _PANEL_IN[1] * lines)
        all_axes = list(canvas.subplots(lines, _COLUMNS, squeeze=False).flat)
        for name, axes in zip(names, all_axes, strict=False):
            draw(axes, name)
            axes.spines[["top", "right"]].set_visible(False)
        for axes in all_axes[len(names) :]:
            axes.set_visible(False)
        handles = [
            Line2D([], [], color=_colour(number), label=protocol, marker="o", markersize=4)
            for number, protocol in enumerate(protocols)
        ]
        canvas.legend(handles=handles, loc="outside upper left", ncols=len(protocols), frameon=False)
        return to_svg(canvas)


def _distribution(axes: Axes, table: pl.DataFrame, protocols: Sequence[str], name: str) -> None:
    label, bounds = QUANTITIES[name]
    for number, protocol in enumerate(protocols):
        of_it = table.filter(pl.col("protocol") == protocol)
        if name in _ALONE:
            of_it = of_it.filter(pl.col("tcps") == 0)
        values = [max(value, _LEAST) for value in of_it[name].drop_nulls().to_list()]
        if values:
            axes.ecdf(values, color=_colour(number), linewidth=1.2)
    for bound in bounds:
        axes.axvline(bound, color=_SOFT, linewidth=0.8, linestyle=":")
    _logarithmic(axes)
    axes.set_ylim(0, 1)
    axes.set_xlabel(label)


def _scatter(axes: Axes, table: pl.DataFrame, protocols: Sequence[str], name: str) -> None:
    drawn = table.filter(pl.col("of_tcp").is_not_null() & pl.col(name).is_not_null())
    if name == "loss_rate":
        drawn = drawn.filter(pl.col(name) > 0)
    words = drawn.schema[name] in (pl.String, pl.Boolean)
    places = {value: place for place, value in enumerate(sorted(drawn[name].unique().to_list()))} if words else {}
    for number, protocol in enumerate(protocols):
        of_it = drawn.filter(pl.col("protocol") == protocol)
        shift = (number - (len(protocols) - 1) / 2) * 0.12  # side by side where a dimension has few values
        x = [places[value] + shift if words else value for value in of_it[name].to_list()]
        y = [max(value, _LEAST) for value in of_it["of_tcp"].to_list()]
        axes.plot(x, y, "o", color=_colour(number), markersize=2.5, alpha=0.6, markeredgewidth=0)
    if words:
        axes.set_xticks(list(places.values()), [str(value) for value in places])
    elif name in _LOGARITHMIC:
        _logarithmic(axes)
    axes.axhline(ENOUGH, color=_SOFT, linewidth=0.8, linestyle=":")
    axes.set_yscale("log")
    axes.set_xlabel(SCATTERED[name])
    axes.set_ylabel("of TCP's")


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
