"""`canopy ctl`: the live state of a running emulation, as tables or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType

from controller import tables
from controller.api import ApiClient, ApiError
from controller.statedir import SOCKET_NAME, StateDirError, check_socket_path, find_running
from engine.command.fail import fail
from engine.command.tables import print_table

app = typer.Typer(help="Show the live state of a running emulation.", no_args_is_help=True, add_completion=False)

Run = Annotated[
    str | None,
    typer.Option("--run", "--state-dir", help="Which emulation, if several are running; or a state directory."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Wide = Annotated[bool, typer.Option("--wide", help="Each row on one line, however narrow the terminal is.")]


@app.command()
def switches(run: Run = None, as_json: AsJson = False, wide: Wide = False) -> None:
    """Each switch: connection, state, dropped packets by reason."""
    _show("switches", tables.switches, run, as_json=as_json, wide=wide, narrow=tables.narrow_switches)


@app.command()
def groups(run: Run = None, as_json: AsJson = False, wide: Wide = False) -> None:
    """Each group: slot, member hosts, packets sent by each switch."""
    _show("groups", tables.groups, run, as_json=as_json, wide=wide)


@app.command()
def members(run: Run = None, as_json: AsJson = False, wide: Wide = False) -> None:
    """Each member port of each group, and when it was last heard of."""
    _show("members", tables.members, run, as_json=as_json, wide=wide)


@app.command()
def trees(run: Run = None, as_json: AsJson = False, wide: Wide = False) -> None:
    """Each group's tree: upstream ports and members of every switch."""
    _show("trees", tables.trees, run, as_json=as_json, wide=wide)


@app.command()
def links(run: Run = None, as_json: AsJson = False, wide: Wide = False) -> None:
    """Each link between switches, and whether the trees use it."""
    _show("links", tables.links, run, as_json=as_json, wide=wide)


@app.command()
def sessions(run: Run = None, as_json: AsJson = False, wide: Wide = False) -> None:
    """Each session: who limits its rate, and what that receiver measures."""
    _show("sessions", tables.sessions, run, as_json=as_json, wide=wide, narrow=tables.narrow_sessions)


@app.command()
def link(
    name: Annotated[str, typer.Argument(help="A link, as `canopy ctl links` names it, or two switches: s1-s2.")],
    state: Annotated[str, typer.Argument(metavar="up|down")],
    run: Run = None,
) -> None:
    """Tell the controller that a link is down or up again: trees and routes follow."""
    if state not in ("up", "down"):
        _fail(f"the state of a link is up or down, not {state}")
    with _client(run) as client:
        result = client.call("set_link", link=name, up=state == "up")
    typer.echo("changed" if result["changed"] else f"the link was {state} already")


@app.command()
def watch(
    run: Run = None,
    as_json: AsJson = False,
    history: Annotated[int, typer.Option(min=0, help="Begin with so many past events.")] = 0,
    count: Annotated[int | None, typer.Option(min=1, help="End after so many events.")] = None,
) -> None:
    """Follow events as they happen: joins, leaves, switches, links."""
    console = Console(highlight=False)
    with _client(run) as client:
        try:
            for number, event in enumerate(client.watch(history), 1):
                if as_json:
                    print(json.dumps(event), flush=True)
                else:
                    console.print(tables.event(event), soft_wrap=not console.is_terminal)  # no word is broken there
                if number == count:
                    break
        except KeyboardInterrupt:
            pass
        except ConnectionError:
            typer.echo("the emulation ended", err=True)


def _show(
    method: str,
    table: Callable[[Any], RenderableType],
    run: str | None,
    *,
    as_json: bool,
    wide: bool,
    narrow: Callable[[Any], RenderableType] | None = None,
) -> None:
    """`narrow`: what it is shown as where the table does not fit."""
    with _client(run) as client:
        result = client.call(method)
    if as_json:
        json.dump(result, sys.stdout, indent=2)
        print()
    else:
        print_table(table(result), wide=wide, narrow=None if narrow is None else narrow(result))


@contextmanager
def _client(run: str | None) -> Iterator[ApiClient]:
    """A connection to the controller; every failure is one line and exit status 2."""
    directory = Path()
    try:
        directory = find_running(run)
        path = check_socket_path(directory)
        with ApiClient(path) as client:
            yield client
    except (StateDirError, ApiError) as error:
        _fail(str(error))
    except (FileNotFoundError, ConnectionRefusedError):
        _fail(f"no controller runs in {directory} (there is no {SOCKET_NAME} that answers)")
    except BrokenPipeError:
        raise typer.Exit(0) from None  # the reader of our output went away
    except TimeoutError:
        _fail("the controller does not answer")
    except OSError as error:
        _fail(f"{error.filename or directory}: {error.strerror or error}")


def _fail(message: str) -> None:
    fail(message, of="canopy ctl")


if __name__ == "__main__":
    app()
