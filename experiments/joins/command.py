"""`canopy compare-joins`: the same session over a Linux bridge that snoops IGMP and over a P4 switch."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated, Final

import typer
from rich.table import Table

from engine.command.exits import EXIT_FAILED
from engine.command.fail import fail
from engine.command.tables import print_table
from experiments.joins.compare import CompareError, Measured, over_bridge, over_switch
from experiments.lan.namespaces import BedError

CONTENDERS: Final[Mapping[str, Callable[[float], Measured]]] = {
    "switch": partial(over_switch, announced=True),
    "controller": partial(over_switch, announced=False),
    "bridge": partial(over_bridge, fast_leave=False),
    "bridge, fast leave": partial(over_bridge, fast_leave=True),
}

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.command("compare-joins")
def compare_joins(
    seconds: Annotated[float, typer.Option(help="Of each run; its last half counts.", min=20)] = 80.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else on standard output.")] = False,
) -> None:
    """How long joins take, what they bring, and what comes after leaves: one WEBRC session with four receivers behind
    2 Mbps, joins answered by the P4 switch, by its controller, and by a Linux bridge. Needs root.
    """
    if os.geteuid() != 0:
        fail("compare-joins needs root")
    found: dict[str, Measured] = {}
    for title, run in CONTENDERS.items():
        typer.echo(f"{title}: {seconds:g} s", err=True)
        try:
            found[title] = run(seconds)
        except (BedError, CompareError) as error:
            fail(f"{title}: {error}", EXIT_FAILED)
    if as_json:
        print(json.dumps({title: asdict(measured) for title, measured in found.items()}))
        return
    table = Table("joins answered by", "MRTT, ms", "of the links", "wasted")
    for title, measured in found.items():
        table.add_row(title, f"{1e3 * measured.mrtt_s:.1f}", f"{measured.used:.1%}", f"{measured.wasted:.2%}")
    print_table(table)
