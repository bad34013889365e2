"""The table of what a benchmark measures, on a terminal."""

from collections.abc import Iterable

from rich.table import Table

from engine.command.tables import print_table
from experiments.figures.bench import Figure


def print_figures(title: str, figures: Iterable[Figure]) -> None:
    """A line each, green where the target is reached."""
    table = Table("", "measured", "target", "unit", title=title)
    for figure in figures:
        style = "green" if figure.is_met else "red"
        bound = "at most " if figure.at_most else ""
        value = f"{figure.value:,.0f}" if figure.value >= 100 or figure.unit != "s" else f"{figure.value:.2f}"
        table.add_row(figure.name, f"[{style}]{value}[/]", f"{bound}{figure.target:,.0f}", figure.unit)
    print_table(table)
