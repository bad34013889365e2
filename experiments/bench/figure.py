"""How a benchmark prints what it measures."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from engine.command.tables import print_table
from experiments.figures.bench import Figure, format_value


class BenchError(Exception):
    """A measurement could not be made; the message says why."""


def show(title: str, figures: Sequence[Figure], *, as_json: bool, notes: Sequence[str] = ()) -> None:
    """As JSON, or as a table: green reaches its targets, red does not. With the other program where there is one."""
    if as_json:
        found = [{**asdict(figure), "ratio": figure.ratio, "is_met": figure.is_met} for figure in figures]
        print(json.dumps({"figures": found, "notes": list(notes)}))
        return
    peer = next((figure.peer for figure in figures if figure.peer_value is not None), None)
    table = Table("", "measured", "unit", "goal", *([peer, "ratio"] if peer else []), title=title)
    table.columns[1].justify = "right"
    for figure in figures:
        measured = format_value(figure.value)
        if figure.is_met is not None:
            measured = f"[{'green' if figure.is_met else 'red'}]{measured}[/]"
        others = ["" if one is None else format_value(one) for one in (figure.peer_value, figure.ratio)]
        table.add_row(figure.name, measured, figure.unit, figure.goal, *(others if peer else []))
    console = Console()
    print_table(table, console=console)
    for note in notes:
        console.print(note, highlight=False)
