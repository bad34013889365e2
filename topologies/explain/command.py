"""`canopy explain`: a packet's way through every switch of a simulated run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.command.exits import EXIT_FAILED
from engine.command.fail import fail
from engine.command.lines import complain, note

STEP, PAGE_STEP = 25, 1
"""Per cent from one word on progress to the next: in a log, and where it moves."""

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.command()
def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a simulated run.")],
    packet: Annotated[str | None, typer.Argument(metavar="[SWITCH:NUMBER]", help="As in s1:507.")] = None,
    at: Annotated[float, typer.Option(min=0, help="Without a packet: list those from this time on, seconds.")] = 0.0,
    switch: Annotated[str | None, typer.Option(help="Without a packet: of this switch (default: the first).")] = None,
    full: Annotated[bool, typer.Option("--full", help="Every line of the switches' traces.")] = False,
    record: Annotated[bool, typer.Option("--record", hidden=True)] = False,
) -> None:
    """Say what each switch's P4 program did with a packet: tables, registers, copies, queues, what it merged into.

    The first call plays the run again, which takes about twice as long as the run did; later ones take it from the file
    packets.sqlite in the run folder. Example: canopy explain RUN --at 4, then canopy explain RUN s1:507
    """
    from topologies.explain.journey import LONGEST_DELAY_US, Explainer
    from topologies.explain.record import recorded
    from topologies.explain.show import journey_lines, list_lines
    from topologies.explain.store import ExplainError
    from topologies.results.run_folder import RunFolder, RunFolderError
    from topologies.results.summary import read_summary

    folder = RunFolder(run.absolute())
    try:
        if not run.is_dir():
            raise ExplainError(f"{run}: no such folder")
        if not folder.scenario.is_file():
            raise ExplainError(f"{run}: no run folder, it has no {folder.scenario.name}")
        summary = read_summary(folder) if folder.summary.exists() else None
        store = recorded(folder, summary, _Told(PAGE_STEP if record or sys.stderr.isatty() else STEP))
        if record:
            return
        explainer = Explainer(store)
        if packet is None:
            packets = explainer.packets(switch, at)
            lines = list_lines(explainer, packets)
            if not packets:
                lasted = f"; the run lasted {summary['duration_s']:.2f} s" if summary is not None else ""
                since = f"the {LONGEST_DELAY_US / 1e6:g} s from {at:g} s on{lasted}"
                note(f"no packet came to {switch or 'the first switch'} in {since}")
        else:
            stops = explainer.journey(packet)
            lines = map(explainer.lines, stops) if full else journey_lines(stops)
        if not explainer.is_same:
            complain("this version's run differs from the one in the folder; it is this one's")
        for line in lines:
            typer.echo(line)
    except (ExplainError, RunFolderError) as error:
        fail(f"explain: {error}")
    except BrokenPipeError:
        raise  # who read the output went away: no failure of ours
    except (OSError, ValueError) as error:
        fail(f"explain: {run}: {error}", EXIT_FAILED)


class _Told:
    """Says how far it is, every so many per cent: on a terminal in place, else a line each, which the page's server
    reads."""

    def __init__(self, step: int) -> None:
        self._step, self._next = step, 0

    def __call__(self, share: float) -> None:
        percent = int(share * 100)
        if percent < self._next:
            return
        self._next = percent + self._step
        end = "\n" if not sys.stderr.isatty() else "\r" if percent < 100 else "\r\033[K"
        print(f"playing the run again: {percent} %", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    app(prog_name="canopy explain")
