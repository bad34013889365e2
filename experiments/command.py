"""`canopy reproduce`. What costs time to import is imported when it is used."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.command.exits import EXIT_FAILED, SIGNALLED
from engine.command.fail import fail
from engine.command.lines import complain, note

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from experiments.harness.reproduce import RowResult
    from experiments.harness.row import Row

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="PAPER|ROW", help="See --list.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs: within 3 minutes a paper.")] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each case (default: 5 simulated, 3 emulated).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")] = False,
    list_rows: Annotated[bool, typer.Option("--list", help="Only list rows, all or those named.")] = False,
    list_kept: Annotated[
        bool, typer.Option("--kept", help="Only list the results that are kept of rows, all or those named.")
    ] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="With --kept: judge the results anew, from the values that they have.")
    ] = False,
    draw: Annotated[
        bool, typer.Option("--draw", help="With --kept: draw the figures anew that the results have all values of.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for ROW.json, ROW.svg (default: experiments/results).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Simulations at a time (default: one a processor).")] = None,
    assist: Annotated[
        bool, typer.Option("--assist", help="Run rows that switches can help with a second time, with their help.")
    ] = False,
) -> None:
    """Run experiments of the papers, and say whether what they found is found again.

    Exit status: 0 when every row asked for holds, 1 when not (a row that is not built does not), 2 for an unknown name.
    --list and --kept run nothing, and end with 0 or 2; with --judge or --draw 1 when a result could not be.
    """
    from rich.console import Console

    from engine.command.signals import Interrupted, interruptible
    from experiments.figures import comparison, plot
    from experiments.harness import origin, results_folder
    from experiments.harness.printing import progress_bar
    from experiments.harness.reproduce import Options
    from experiments.harness.reproduce import reproduce as run_rows
    from experiments.harness.row import with_assistance
    from experiments.rows import ROWS, select
    from experiments.rows.compare import comparison as compare
    from topologies.scenario.names import UnknownNameError

    try:
        named = select(names) if names else list(ROWS.values())
        rows = with_assistance(named) if assist or list_kept else named
    except UnknownNameError as error:
        fail(str(error))
    if list_rows and list_kept:
        fail("reproduce: --list or --kept, not both")
    if (judge or draw) and not list_kept:
        fail("reproduce: --judge and --draw go with --kept")
    folder = results_folder.RESULTS if out is None else out
    if list_kept:
        if not (judge or draw):
            _print_kept(rows, {row.id for row in named}, folder, as_json=as_json)
        elif not _renew(rows, folder, judge=judge, draw=draw):
            raise typer.Exit(EXIT_FAILED)
        return
    if list_rows:
        _print_rows(rows, as_json=as_json)
        return
    if not names:
        fail("reproduce: name a paper or a row; `canopy reproduce --list` shows them")
    errors = Console(stderr=True)
    options = Options(quick=quick, seeds=seeds, parallel=jobs or os.cpu_count() or 1)
    checkout = origin.Checkout()
    judged: list[str] = []

    def keep(result: "RowResult") -> None:
        try:
            made = origin.made_now(checkout, (outcome.case.world for outcome in result.outcomes))
            if result.outcomes and not results_folder.keep(result, made, folder, spare_fuller=out is None):
                result.notes.append(f"the kept result of longer or more runs stays in {folder}")
            elif result.outcomes:
                plot.write(result, folder)
        except ValueError as error:
            result.notes.append(f"no figure: {error}")
        except OSError as error:
            result.notes.append(f"{error.filename or folder}: {error.strerror or error}")
        judged.append(result.row.id)

    try:
        with interruptible(), progress_bar(errors, "runs") as on_run:
            results = run_rows(rows, options, on_run, keep)
    except Interrupted as interrupt:
        fail(f"interrupted; rows that were through: {', '.join(judged) or 'none'}", SIGNALLED + interrupt.number)
    compared = [result for result in results if result.row.paper == comparison.NAME]
    try:
        if compared and comparison.write(folder, compare.ROWS):
            compared[-1].notes.append(f"all side by side: {folder / comparison.NAME}.md and .svg")
    except (OSError, ValueError) as error:
        compared[-1].notes.append(f"no comparison in {folder}: {error}")
    _print_results(results, as_json=as_json)
    if not all(result.holds for result in results):
        raise typer.Exit(EXIT_FAILED)


def _print_rows(rows: "Sequence[Row]", *, as_json: bool) -> None:
    from rich.console import Console

    from experiments.harness import printing

    if as_json:
        built = [{"row": row.id, "paper": row.paper, "world": row.world, "missing": row.missing} for row in rows]
        print(json.dumps({"rows": built}))
    else:
        printing.print_rows(Console(), rows)


def _print_kept(rows: "Sequence[Row]", named: "Set[str]", folder: Path, *, as_json: bool) -> None:
    from rich.console import Console

    from experiments.harness import printing
    from experiments.harness.kept import kept_rows

    # Rows with assistance that were not named are there if they have a file: few were run.
    entries = [entry for entry in kept_rows(rows, folder) if entry.row.id in named or entry.kept or entry.problem]
    if as_json:
        print(json.dumps({"rows": [entry.as_json() for entry in entries]}))
    else:
        printing.print_kept(Console(), entries)
    for entry in entries:
        if entry.problem:
            complain(entry.problem)


def _renew(rows: "Sequence[Row]", folder: Path, *, judge: bool, draw: bool) -> bool:
    """Judge and draw what is kept of the rows anew; tell what reads differently. False when something could not be."""
    from experiments.figures import comparison, plot
    from experiments.harness.kept import KeptError, kept_result, kept_rows
    from experiments.harness.results_folder import judge_anew
    from experiments.rows.compare import comparison as compare

    is_whole = True
    for entry in kept_rows(rows, folder):
        if entry.kept is None and not entry.problem:
            continue
        try:
            if judge and (judged := judge_anew(entry, folder)).before != judged.after:
                typer.echo(judged)
            if draw and entry.row.experiment is not None and plot.shows_values(entry.row.experiment.figure):
                plot.write(kept_result(entry, of_today=False), folder)
        except (KeptError, OSError) as error:
            complain(error)
            is_whole = False
    if draw and compare.ROWS[0].id in {row.id for row in rows}:
        comparison.write(folder, compare.ROWS)
    return is_whole


def _print_results(results: "Sequence[RowResult]", *, as_json: bool) -> None:
    from rich.console import Console

    from experiments.harness import printing, results_folder

    if as_json:
        print(json.dumps({"rows": [results_folder.summary(result) for result in results]}))
        for result in results:
            for words in result.notes:
                note(f"{result.row.id}: {words}")
    else:
        printing.print_results(Console(), results)
