"""A survey's verdicts on a terminal, or for a program."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.command.lines import visible
from engine.command.tables import print_table
from experiments.figures.survey import Verdicts, counted, number, part
from experiments.survey import page, table
from experiments.survey.survey import Surveyed


def print_verdicts(console: Console, surveyed: Surveyed, verdicts: Verdicts, folder: Path) -> None:
    """A line a protocol, its worst cell, and where the rest is."""
    shown = Table("protocol", "cells", "alone, 85 % of TCP's", "share 0.5 to 2", "recovers", "no stall", "no collapse",
                  "holds")  # fmt: skip
    for one in verdicts.protocols:
        counts = [counted(count) for count in (one.enough, one.fair, one.recovers, one.moves, one.stands)]
        holds = Text("yes", style="green") if one.holds else Text("no", style="red")
        shown.add_row(one.protocol, str(one.done), *counts, holds)
    print_table(shown, console=console)
    print_table(_goals(verdicts), console=console)
    for one in verdicts.protocols:
        for worst in page.worst(surveyed.outcomes, one.protocol)[:1]:
            _print(console, f"{one.protocol}'s worst: {page.faults(worst)}: {page.command(worst, folder)}")
    left_out = {outcome.cell.number for outcome in surveyed.outcomes if outcome.state == "left out"}
    if left_out:
        _print(console, f"{len(left_out)} cells exceed the bound and were left out (--full runs them)")
    if surveyed.reused:
        _print(console, f"{surveyed.reused} runs were there already")
    _print(console, f"seed {verdicts.seed} is one for {verdicts.kind}")
    _print(console, f"page: {folder / page.FILE_NAME}; table: {folder / table.FILE_NAME}")


def _goals(verdicts: Verdicts) -> Table:
    shown = Table("protocol", "alone, no losses: 90 %", "least", "beside Reno, CUBIC: 0.5 to 2", "least, most",
                  "0.5 to 2 times a TCP in its place")  # fmt: skip
    for one in verdicts.protocols:
        goals = one.goals
        shown.add_row(
            one.protocol,
            counted(goals.lossless),
            part(goals.lossless_least),
            counted(goals.beside_loss_based),
            f"{number(goals.beside_least)}, {number(goals.beside_most)}",
            counted(goals.as_tcp),
        )
    return shown


def _print(console: Console, text: str) -> None:
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)
