"""`canopy web`: the page of one run or two."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from engine.command.exits import EXIT_BAD_INPUT
from engine.command.fail import fail
from topologies.results.run_folder import RunFolderError

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

MOST_RUNS = 2


@app.command()
def web(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN]", help="Run folders; two are shown side by side.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0: one that is free.")] = 0,
) -> None:
    """Show a run in a browser on this machine, while it goes on or afterwards; Ctrl-C ends it.

    Example: canopy web runs/quickstart-20260101-120000
    """
    from topologies.web.run import Run
    from topologies.web.server import serve

    if len(runs) > MOST_RUNS:
        fail(f"web: {len(runs)} runs; at most {MOST_RUNS} are shown side by side")
    try:
        shown = [Run(path) for path in runs]
        asyncio.run(serve(shown, port, lambda link: typer.echo(f"{link} shows it; Ctrl-C ends this")))
    except RunFolderError as error:
        fail(str(error), EXIT_BAD_INPUT)
    except OSError as error:
        fail(f"port {port}: {error.strerror or error}", EXIT_BAD_INPUT)
