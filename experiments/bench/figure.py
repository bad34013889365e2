"""What a benchmark measures beside what it should reach, and the table of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table

from engine.command.tables import print_table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and what it should be; `peer` is for other programs, none of which was measured."""

    name: str
    value: float
    unit: str
    target: float
    at_most: bool = False
    """Whether the target is an upper bound."""
    peer: str | None = None
    peer_value: float | None = None

    @property
    def is_met(self) -> bool:
        """Whether the target is reached."""
        return self.value <= self.target if self.at_most else self.value >= self.target


def print_figures(title: str, figures: Iterable[Figure]) -> None:
    """A line each, green where the target is reached."""
    table = Table("", "measured", "target", "unit", title=title)
    for figure in figures:
        style = "green" if figure.is_met else "red"
        bound = "at most " if figure.at_most else ""
        value = f"{figure.value:,.0f}" if figure.value >= 100 or figure.unit != "s" else f"{figure.value:.2f}"
        table.add_row(figure.name, f"[{style}]{value}[/]", f"{bound}{figure.target:,.0f}", figure.unit)
    print_table(table)
