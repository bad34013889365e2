"""`canopy survey`. What costs time to import is imported when it is used."""

import os
from pathlib import Path
from typing import Annotated

import typer

from engine.command.exits import EXIT_FAILED, SIGNALLED
from engine.command.fail import fail
from engine.command.lines import complain

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def survey(
    names: Annotated[list[str] | None, typer.Argument(metavar="PROTOCOL", help="All, unless some are named.")] = None,
    cells: Annotated[int, typer.Option(min=1, max=2000, help="Networks.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**32, help="1 to 20 to develop with, from 1000 on to report.")] = 1,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: one a processor).")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask cluster instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON, and nothing else.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Run the cells beyond the bound, too.")] = False,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Cells of one kind, as many: lossless (alone, losses in queues only), beside (Reno and CUBIC only) or "
            "change (of delay or rate).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder (default: runs/survey-SEED, or runs/survey-SEED-KIND).")
    ] = None,
) -> None:
    """Simulate protocols in networks that nobody tuned, beside TCP. A broken survey goes on where it was.

    Exit status: 0 when all runs have results, whatever the verdicts; 1 when not, 2 when nothing could be run.
    """
    from rich.console import Console

    from engine.command.signals import Interrupted, interruptible
    from experiments.harness import origin
    from experiments.harness.dask_cluster import on_dask
    from experiments.harness.jobs import JobsError, local, write_whole
    from experiments.harness.printing import progress_bar
    from experiments.survey import survey as surveys
    from experiments.survey.kinds import KINDS
    from experiments.survey.page import write_page
    from experiments.survey.printing import print_verdicts
    from experiments.survey.table import write_table
    from experiments.survey.verdict import FILE_NAME, verdicts
    from hosts import protocols

    known = protocols.names()
    for name in names or ():
        if name not in known:
            fail(f"survey: there is no protocol `{name}` (known: {', '.join(known)})")
    if only is not None and only not in KINDS:
        fail(f"survey: --only: there is no kind `{only}` (known: {', '.join(KINDS)})")
    plan = surveys.Plan(list(dict.fromkeys(names or known)), cells, seed, full, only or "")
    folder = out or Path("runs") / "-".join(filter(None, ("survey", str(seed), only)))
    checkout = origin.Checkout()
    try:
        with interruptible(), progress_bar(Console(stderr=True), "runs") as on_run:
            run_all = on_dask(dask) if dask else local(jobs or os.cpu_count() or 1)
            surveyed = surveys.survey(plan, folder, run_all, on_run)
            found = verdicts(surveyed, origin.made_now(checkout, ["sim"]))
            verdicts_json = found.model_dump_json()
            write_whole(folder / FILE_NAME, verdicts_json + "\n")
            write_page(surveyed, found, write_table(surveyed, folder), folder)
    except JobsError as error:
        fail(str(error))
    except Interrupted as interrupt:
        fail(f"interrupted; the same command goes on from {folder}", SIGNALLED + interrupt.number)
    for failure in surveyed.failures:
        complain(failure)
    if as_json:
        print(verdicts_json)
    else:
        print_verdicts(Console(), surveyed, found, folder)
    if surveyed.failures:
        raise typer.Exit(EXIT_FAILED)


if __name__ == "__main__":
    app(prog_name="canopy survey")
