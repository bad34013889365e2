"""Figures, what they should reach, and how they are printed."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from engine.command.tables import print_table


class BenchError(Exception):
    """A measurement could not be made; the message says why."""


@dataclass(frozen=True)
class Figure:
    """One measured number; `peer_value` is the peer's, where it was measured."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False
    """Whether the target is an upper bound."""
    peer: str | None = None
    peer_value: float | None = None
    ratio_target: float | None = None
    """So many times the peer's value it should be, or with `at_most` no more."""

    @property
    def ratio(self) -> float | None:
        """Times the peer's value."""
        return self.value / self.peer_value if self.peer_value else None

    @property
    def is_met(self) -> bool:
        """Whether it reaches its targets, as far as they were measured."""
        pairs = ((self.value, self.target), (self.ratio, self.ratio_target))
        wanted = [(value, target) for value, target in pairs if value is not None and target is not None]
        return all(value <= target if self.at_most else value >= target for value, target in wanted)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio, "is_met": self.is_met}


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _wanted(figure: Figure) -> str:
    sign = "<=" if figure.at_most else ">="
    wanted = [f"{sign} {_number(figure.target)}"] if figure.target is not None else []
    if figure.ratio_target is not None:
        wanted.append(f"{sign} {_number(figure.ratio_target)} x")
    return ", ".join(wanted)


def print_figures(figures: Iterable[Figure], notes: Iterable[str]) -> None:
    """A table: green reaches its targets, red does not."""
    table = Table("", "measured", "", "simple_switch_grpc", "ratio", "wanted")
    for index in (1, 3, 4):
        table.columns[index].justify = "right"
    for figure in figures:
        style = "green" if figure.is_met else "red"
        measured = f"[{style}]{_number(figure.value)}[/]"
        peer, ratio = _number(figure.peer_value), _number(figure.ratio)
        table.add_row(figure.name, measured, figure.unit, peer, ratio, _wanted(figure))
    console = Console()
    print_table(table, console=console)
    for note in notes:
        console.print(note, highlight=False)
