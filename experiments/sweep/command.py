"""`canopy sweep`. What costs time to import is imported when it is used."""

import os
from pathlib import Path
from typing import Annotated

import typer

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, SIGNALLED
from engine.command.fail import fail
from engine.command.lines import complain

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def sweep(
    scenario: Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, a YAML file.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE,...", help="As links.core.loss=0.001,0.01; all are combined."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each combination, with seeds from 1 on.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder of the sweep (default: runs/sweep-NAME).")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time (default: one a processor).")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask cluster instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, and nothing else.")] = False,
) -> None:
    """Simulate a scenario with every combination of settings, several seeds each. A broken sweep goes on where it was.

    Exit status: 0 when all runs have results, 1 when not, 2 when nothing could be run.
    """
    from rich.console import Console

    from engine.command.signals import Interrupted, interruptible
    from experiments.harness.dask_cluster import on_dask
    from experiments.harness.jobs import JobsError, local
    from experiments.harness.printing import progress_bar
    from experiments.sweep import sweep as sweeps
    from experiments.sweep.table import show_table, write_table
    from topologies.scenario import ScenarioError, load_scenario
    from topologies.scenario.settings import SettingError, parse_setting

    try:
        loaded = load_scenario(scenario, check_files=True, purpose="simulate")
        points = sweeps.grid(loaded, scenario.parent, [parse_setting(text) for text in settings or []], seeds)
    except ScenarioError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(EXIT_BAD_INPUT) from None
    except SettingError as error:
        fail(f"--set: {error}")
    folder = out or Path("runs") / f"sweep-{loaded.name}"
    errors = Console(stderr=True)
    try:
        with interruptible(), progress_bar(errors, "runs") as on_run:
            run_all = on_dask(dask) if dask else local(jobs or os.cpu_count() or 1)
            outcome = sweeps.run_sweep(points, folder, run_all, on_run)
        table = write_table(outcome.records, folder) if outcome.records else None
    except JobsError as error:
        fail(str(error))
    except Interrupted as interrupt:
        fail(f"interrupted; the same command goes on from {folder}", SIGNALLED + interrupt.number)
    for failure in outcome.failures:
        complain(failure)
    if table is not None:
        show_table(Console(), table, folder, as_json=as_json, reused=outcome.reused)
    if outcome.failures:
        raise typer.Exit(EXIT_FAILED)


if __name__ == "__main__":
    app(prog_name="canopy sweep")
