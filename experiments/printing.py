"""Results of rows and sweeps on a terminal."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from experiments.reproduce import RowResult
from experiments.row import Row
from experiments.statistics import Estimate


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """All rows, with what each needs before it can be run."""
    table = Table("row", "world", "setting", "the paper's result, and what counts", "built")
    for row in rows:
        built = Text("yes", style="green") if row.experiment else Text(f"not built: needs {row.missing}")
        table.add_row(row.id, row.world, row.title, f"{row.value}; {row.counts}", built)
    console.print(table)


def print_results(console: Console, results: Sequence[RowResult]) -> None:
    """The paper's value beside ours, and whether the relation holds."""
    table = Table("row", "the paper", "counts", "ours [95 %]", "holds")
    for result in results:
        judgement = result.judgement
        ours = "" if judgement is None else f"{format_estimate(judgement.measured)} {result.row.unit}".strip()
        if judgement is not None and judgement.where:
            ours += f"\n({judgement.where})"
        if result.row.experiment is None:
            holds = Text("not built", style="yellow")
        else:
            holds = Text("yes", style="green") if result.holds else Text("no", style="red")
        table.add_row(result.row.id, result.row.value, result.row.counts, ours, holds)
    console.print(table)
    for result in results:
        for note in result.notes:
            console.print(f"{result.row.id}: {note}", markup=False, highlight=False, soft_wrap=True)


def format_estimate(estimate: Estimate) -> str:
    """`0.98 [0.97, 0.99]`; without brackets when the interval has no bounds."""
    text = _number(estimate.mean)
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        text += f" [{_number(estimate.low)}, {_number(estimate.high)}]"
    return text


def _number(value: float) -> str:
    """Four digits, or all whole ones of a large number."""
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
