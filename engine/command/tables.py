"""Tables on a terminal, and where there is none."""

from typing import Final

from rich.console import Console, RenderableType
from rich.measure import Measurement

UNBOUNDED: Final = 10_000
"""Columns; wider than any table."""


def print_table(table: RenderableType, *, console: Console | None = None, wide: bool = False) -> None:
    """Print it so that it fits the terminal; in a pipe or a file, where there is nothing to fit, and when it is to be
    `wide`, as wide as its widest line is."""
    console = console or Console(highlight=False)
    width = console.width
    if wide or not console.is_terminal:
        unbounded = console.options.update(width=UNBOUNDED)
        console.width = max(1, Measurement.get(console, unbounded, table).maximum)
    console.print(table, soft_wrap=wide)
    console.width = width
