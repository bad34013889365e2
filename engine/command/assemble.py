"""The `canopy` command, assembled from each layer's own commands.

Only the module behind the command that was asked for is imported: `canopy ctl` need not pay for matplotlib, eight
receivers starting at once need not load Mininet, and `canopy --help` loads none.
"""

import importlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, NamedTuple

import typer
from typer.exceptions import Abort, TyperException

from engine.command.examples import add_examples
from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED
from engine.command.lines import complain
from engine.command.values import refuse_senseless


class NotInstalled(TyperException):
    """A command of a part that this package does not have."""

    exit_code = EXIT_BAD_INPUT


class Part(NamedTuple):
    """A module with a typer `app`, and the commands it brings; with a group name they live below it."""

    module: str
    commands: Mapping[str, str]
    """With what each does, in so few words that a terminal's line has room for them."""
    group: str | None = None


PARTS = (
    Part(
        "topologies.cli",
        {
            "emulate": "Run a scenario on emulated hosts and live P4 switches.",
            "simulate": "Run a scenario in virtual time, without root.",
            "compare": "Show two runs' results beside each other.",
            "exec": "Run a program on a node of a running emulation.",
            "scenario": "The scenario format.",
        },
    ),
    Part("topologies.attacks", {"attack": "Run a scenario with each attack of a stranger."}),
    Part("topologies.web.command", {"web": "Show a run, or two, on a page in a browser."}),
    Part("topologies.explain.command", {"explain": "Say what each switch did with a packet of a run."}),
    Part(
        "hosts.programs.cli",
        {
            "send": "Send files and folders to all receivers that join.",
            "recv": "Receive what a session sends into a folder.",
        },
    ),
    Part("hosts.programs.broadcast_cli", {"broadcast": "Send files again and again, with WEBRC."}),
    Part("hosts.programs.protocols_cli", {"protocols": "List the protocols, or one's parameters."}),
    Part("hosts.programs.keys_cli", {"keys": "Keys of groups, certificates of switches."}, group="keys"),
    Part("hosts.programs.stream_cli", {"stream": "Real-time data from one sender to many."}, group="stream"),
    Part("hosts.doctor.command", {"doctor": "Check this machine, and say what it lacks."}),
    Part("hosts.dissect.wireshark", {"wireshark": "The dissector of Canopy's packets."}, group="wireshark"),
    Part("controller.ctl", {"ctl": "Show the live state of a running emulation."}, group="ctl"),
    Part("controller.service", {"controller": "Control the switches of a network."}),
    Part("engine.switch.cli", {"switch": "The embedded P4 switch."}, group="switch"),
    Part("experiments.command", {"reproduce": "Run experiments of the papers, and judge them."}),
    Part("experiments.sweep.command", {"sweep": "Simulate every combination of settings."}),
    Part("experiments.survey.command", {"survey": "Simulate protocols in networks nobody tuned."}),
    Part("experiments.peers.command", {"compare-peers": "Move a file with Canopy, uftp and NORM."}),
    Part("experiments.joins.command", {"compare-joins": "How long joins take, and what they bring."}),
    Part("experiments.bench.cli", {"bench": "Benchmarks."}, group="bench"),
)

HELP = """Congestion-controlled multicast over programmable switches.

Example: canopy emulate topologies/quickstart.yaml
"""


def _command(arguments: Sequence[str]) -> str | None:
    return next((word for word in arguments if not word.startswith("-")), None)


def part_for(arguments: Sequence[str]) -> Part | None:
    """The part that a command line needs; None for help on all, and typing errors."""
    command = _command(arguments)
    return next((part for part in PARTS if command in part.commands), None)


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
    part = part_for(arguments)
    if part is None:
        for listed in filter(_is_installed, PARTS):
            for name, line in listed.commands.items():
                root.command(name, help=line)(_show_nothing)
        return root
    if not _is_installed(part):
        raise NotInstalled(f"`canopy {_command(arguments)}` is in the package canopy, not in canopy-agents")
    app: typer.Typer = importlib.import_module(part.module).app
    add_examples(app, part.group or "")
    root.add_typer(app, name=part.group)
    return root


def _who_has_it(error: TyperException) -> str:
    """Of an option that a command lacks: which commands beside it do not, as `send` of what is tried at `recv`."""
    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if option is None or context is None or context.parent is None:
        return ""
    beside = getattr(context.parent.command, "commands", {})
    names = [name for name, command in beside.items() if any(option in each.opts for each in command.params)]
    place = context.parent.command_path
    return f" (it is one of {' and '.join(f'{place} {name}' for name in names)})" if names else ""


def _show_nothing() -> None:
    """In the place of a command in a list of them."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line; its exit status. Wrong usage is one line on stderr and 2."""
    try:
        command = typer.main.get_command(build(arguments))
        refuse_senseless(command)
        status = command(args=list(arguments), prog_name="canopy", standalone_mode=False)
    except TyperException as error:
        message = error.format_message() + _who_has_it(error)
        if message.startswith("Usage:"):  # the help was asked for, by saying nothing
            print(message)
        elif message:
            complain(message)
        return error.exit_code
    except Abort:
        return EXIT_FAILED
    return status if isinstance(status, int) else 0
