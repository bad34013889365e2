"""The `canopy` command, assembled from each layer's own commands.

Only the module behind the command that was asked for is imported: `canopy ctl` need not pay for matplotlib, and eight
receivers starting at once need not load Mininet.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, NamedTuple

import typer
from typer.exceptions import Abort, TyperException

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED


class NotInstalled(TyperException):
    """A command of a part that this package does not have."""

    exit_code = EXIT_BAD_INPUT


class Part(NamedTuple):
    """A module with a typer `app`, and the commands it brings; with a group name they live below it."""

    module: str
    commands: tuple[str, ...]
    group: str | None = None


PARTS = (
    Part("topologies.cli", ("emulate", "simulate", "compare", "exec", "scenario")),
    Part("topologies.attacks", ("attack",)),
    Part("topologies.web.command", ("web",)),
    Part("topologies.explain.command", ("explain",)),
    Part("hosts.programs.cli", ("send", "recv")),
    Part("hosts.programs.broadcast_cli", ("broadcast",)),
    Part("hosts.programs.protocols_cli", ("protocols",)),
    Part("hosts.programs.keys_cli", ("keys",), group="keys"),
    Part("hosts.programs.stream_cli", ("stream",), group="stream"),
    Part("hosts.doctor.command", ("doctor",)),
    Part("hosts.dissect.wireshark", ("wireshark",), group="wireshark"),
    Part("controller.ctl", ("ctl",), group="ctl"),
    Part("controller.service", ("controller",)),
    Part("engine.switch.cli", ("switch",), group="switch"),
    Part("experiments.command", ("reproduce",)),
    Part("experiments.sweep.command", ("sweep",)),
    Part("experiments.survey.command", ("survey",)),
    Part("experiments.peers.command", ("compare-peers",)),
    Part("experiments.joins.command", ("compare-joins",)),
    Part("experiments.bench.cli", ("bench",), group="bench"),
)

HELP = """Congestion-controlled multicast over programmable switches.

Example: canopy emulate topologies/quickstart.yaml
"""


def _command(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if not word.startswith("-")), None)


def parts_for(arguments: Sequence[str]) -> Sequence[Part]:
    """The parts that a command line needs: the one that has its command, or all of them for help and typing errors."""
    if "--version" in arguments[:1]:
        return ()
    command = _command(arguments)
    return [part for part in PARTS if command in part.commands] or [part for part in PARTS if _is_installed(part)]


def _is_installed(part: Part) -> bool:
    """The package `canopy-agents` has the hosts' parts only."""
    try:
        return find_spec(part.module) is not None
    except ModuleNotFoundError:  # not even its package
        return False


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"canopy {metadata.version('canopy')}")
        raise typer.Exit


def build(arguments: Sequence[str]) -> typer.Typer:
    """The typer application that can run `arguments`."""
    root = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    @root.callback()
    def top(
        version: Annotated[
            bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
        ] = False,
    ) -> None:
        """Keeps a single command a subcommand: typer would otherwise run it without its name."""

    top.__doc__ = HELP
    for part in parts_for(arguments):
        if not _is_installed(part):
            raise NotInstalled(f"`canopy {_command(arguments)}` is in the package canopy, not in canopy-agents")
        app: typer.Typer = importlib.import_module(part.module).app
        root.add_typer(app, name=part.group)
    return root


def run(arguments: Sequence[str]) -> int:
    """Run a command line; its exit status. Wrong usage is one line on stderr and 2."""
    try:
        status = build(arguments)(args=list(arguments), prog_name="canopy", standalone_mode=False)
    except TyperException as error:
        message = error.format_message()
        if message.startswith("Usage:"):  # the help was asked for, by saying nothing
            print(message)
        elif message:
            print(f"canopy: {message}", file=sys.stderr)
        return error.exit_code
    except Abort:
        return EXIT_FAILED
    return status if isinstance(status, int) else 0
