"""Tables on a terminal, and where there is none."""

from typing import Final

from rich.console import Console, RenderableType
from rich.measure import Measurement

UNBOUNDED: Final = 10_000
"""Columns; wider than any table."""


def print_table(
    table: RenderableType, *, console: Console | None = None, wide: bool = False, narrow: RenderableType | None = None
) -> None:
    """Print it so that it fits the terminal, `narrow` in its place where it would not; in a pipe or a file, where there
    is nothing to fit, and when it is to be `wide`, as wide as its widest line is."""
    console = console or Console(highlight=False)
    width = console.width
    unbounded = console.options.update(width=UNBOUNDED)
    needed = max(1, Measurement.get(console, unbounded, table).maximum)
    if wide or not console.is_terminal:
        console.width = needed
    elif narrow is not None and needed > width:
        table = narrow
    console.print(table, soft_wrap=wide)
    console.width = width
