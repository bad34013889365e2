"""`canopy protocols`: which there are, what they carry, and every parameter."""

import dataclasses
import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from engine.command.fail import fail
from hosts import protocols
from hosts.programs.parameters import carries, parameters, title

app = typer.Typer(add_completion=False, no_args_is_help=False, pretty_exceptions_enable=False)


@app.command(name="protocols")
def show(
    name: Annotated[str | None, typer.Argument(help="Of this one: every parameter.", show_default="all")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the protocols, or one's parameters with default, unit and origin. `--set NAME=VALUE` sets them in `canopy
    send`, `recv` and `stream`, `parameters:` in a scenario.
    """
    console = Console()
    if name is None:
        found = [protocols.get(each) for each in protocols.names()]
        if as_json:
            print(json.dumps({each.name: {"carries": carries(each), "from": title(each)} for each in found}, indent=2))
            return
        table = Table(box=None, pad_edge=False)
        for column in ("protocol", "carries", "from"):
            table.add_column(column, overflow="fold")
        for each in found:
            table.add_row(each.name, carries(each), title(each))
        console.print(table)
        console.print("canopy protocols NAME shows a protocol's parameters, docs/NAME.md its rules", highlight=False)
        return
    try:
        protocol = protocols.get(name)
    except ValueError as error:
        fail(str(error))
    rows = parameters(protocol)
    if as_json:
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=2))
        return
    console.print(f"{name}: {title(protocol)}\ncarries {carries(protocol)}\n", markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, row_styles=["", "dim"])
    table.add_column("parameter", no_wrap=True)
    table.add_column("default", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("what it is, and where it comes from", overflow="fold")
    for row in rows:
        table.add_row(row.name, _text(row.default), row.unit, row.origin)
    console.print(table, markup=False)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)
