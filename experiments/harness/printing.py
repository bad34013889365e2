"""Results of rows and sweeps, and how far their runs are, on a terminal."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

from engine.command.tables import print_table
from experiments.harness.kept import KeptRow, State
from experiments.harness.reproduce import RowResult
from experiments.harness.row import Row
from experiments.harness.statistics import Estimate

_STATE_STYLES: Mapping[State, str] = {"current": "green", "scenario changed": "red", "unknown": "yellow"}
_COMMIT_DIGITS = 8
_NAMED_CASES = 2
"""Of those whose scenario has changed, in a table's cell."""


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """All rows, with what each needs before it can be run."""
    table = Table(_row(), "world", "setting", "the paper's result, and what counts", "built")
    for row in rows:
        built = Text("yes", style="green") if row.experiment else Text(f"not built: needs {row.missing}")
        table.add_row(row.id, row.world, row.title, f"{row.value}; {row.counts}", built)
    print_table(table, console=console)


def print_kept(console: Console, entries: Sequence[KeptRow]) -> None:
    """What is kept of each row: when and by which code it was made, its runs and verdict, and whose scenario it is."""
    table = Table(_row(), "made", "commit", "runs", "holds", "scenario")
    for entry in entries:
        kept, standing = entry.kept, entry.standing
        if kept is None or standing is None:
            table.add_row(entry.row.id, "", "", "", "", Text("not readable" if entry.problem else "nothing kept"))
            continue
        holds = Text("yes", style="green") if kept.holds else Text("no", style="red")
        runs = f"{kept.runs}, quick" if kept.quick else str(kept.runs)
        state = Text(standing.state, style=_STATE_STYLES[standing.state])
        named = [label for label in standing.changed if label]
        if named:
            more = len(named) - _NAMED_CASES
            state.append(f" ({', '.join(named[:_NAMED_CASES])}{f' and {more} more' if more > 0 else ''})")
        table.add_row(entry.row.id, kept.made.date or "", (kept.made.commit or "")[:_COMMIT_DIGITS], runs, holds, state)
    print_table(table, console=console)


def print_results(console: Console, results: Sequence[RowResult]) -> None:
    """The paper's value beside ours, and whether the relation holds."""
    table = Table(_row(), "the paper", "counts", "ours [95 %]", "holds")
    for result in results:
        judgement = result.judgement
        ours = ""
        if judgement is not None:
            unit = result.row.unit_of(judgement.quantity)
            ours = f"{format_estimate(judgement.measured)} {unit}".strip() + f"\n({judgement.where})"
        if result.row.experiment is None:
            holds = Text("not built", style="yellow")
        else:
            holds = Text("yes", style="green") if result.holds else Text("no", style="red")
        table.add_row(result.row.id, result.row.value, result.row.counts, ours, holds)
    print_table(table, console=console)
    for result in results:
        for note in result.notes:
            console.print(f"{result.row.id}: {note}", markup=False, highlight=False, soft_wrap=True)


def format_estimate(estimate: Estimate) -> str:
    """`0.98 [0.97, 0.99]`; without brackets when the interval has no bounds."""
    text = _number(estimate.mean)
    if math.isfinite(estimate.low) and math.isfinite(estimate.high):
        text += f" [{_number(estimate.low)}, {_number(estimate.high)}]"
    return text


def _row() -> Column:
    """Of rows' names, which one types next: whole in the narrowest terminal."""
    return Column("row", no_wrap=True)


def _number(value: float) -> str:
    """Four digits, or all whole ones of a large number."""
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"


@contextmanager
def progress_bar(console: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """A function that is told how many of how many are done; shown only on a terminal."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
