"""What `canopy emulate` prints, and its exit status."""

import json
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from topologies.emulation.child import ChildError
from topologies.emulation.live_view import make_live_view
from topologies.emulation.nodes import NodeError
from topologies.emulation.requirements import RequirementError
from topologies.emulation.runner import RunOptions, run_scenario
from topologies.emulation.state import StateError
from topologies.run.results import SessionResult, Summary
from topologies.run.run_folder import RunFolderError
from topologies.run.signals import Interrupted
from topologies.run.sources import SourceError
from topologies.scenario import Scenario
from topologies.scenario.quantity import format_measured_rate, format_rate, format_size

_EXIT_FAILED = 1
_EXIT_BAD_INPUT = 2
_SIGNALLED = 128
"""A shell's status of a program that a signal ended is this plus the signal's number."""
_SIGINT = 2


def emulate_scenario(scenario: Scenario, options: RunOptions, *, as_json: bool) -> int:
    """Run the scenario and print its course and result; the exit status."""
    console = Console(stderr=as_json)

    def show(summary: Summary) -> None:
        if as_json:
            sys.stdout.write(json.dumps(summary.as_json(), indent=2) + "\n")
            sys.stdout.flush()
        else:
            print_summary(console, summary)
        if options.hold and summary.sessions and summary.outcome != "interrupted":
            _note(console, "the network stays up until Ctrl-C")

    try:
        summary = run_scenario(scenario, options, lambda: make_live_view(console, quiet=as_json), show)
    except (RequirementError, RunFolderError, SourceError, StateError) as error:
        print(f"canopy: {error}", file=sys.stderr)
        return _EXIT_BAD_INPUT
    except (NodeError, ChildError) as error:
        print(f"canopy: the emulation failed: {error}", file=sys.stderr)
        return _EXIT_FAILED
    except Interrupted as interrupt:
        print("canopy: interrupted before the network was up", file=sys.stderr)
        return _SIGNALLED + interrupt.number
    if summary.outcome == "interrupted":
        return _SIGNALLED + _SIGINT
    return 0 if summary.ok else _EXIT_FAILED


def print_summary(console: Console, summary: Summary) -> None:
    """The result, for reading."""
    for session in summary.sessions:
        name = f"{session.file}, {format_size(session.bytes)}, SHA-256 {session.sha256}"
        _note(console, f"session {session.id}: {name}")
        console.print(_session_table(session))
        counts = [
            f"{number} {what}"
            for number, what in (
                (session.feedback_packets, "feedback packets at the sender"),
                (session.repair_packets, "repairs sent"),
            )
            if number is not None
        ]
        _note(console, f"session {session.id} {session.state}: {', '.join(counts)}" + _detail(session.detail))
    for flow in summary.flows:
        goodput = "nothing measured" if flow.goodput_bps is None else format_measured_rate(flow.goodput_bps)
        _note(console, f"{flow.kind} from {flow.source} to {flow.destination}: {goodput}")
    for bottleneck in summary.bottlenecks:
        if bottleneck.utilisation is not None:
            _note(
                console,
                f"bottleneck {bottleneck.source} -> {bottleneck.destination} ({format_rate(bottleneck.rate_bps)}): "
                f"{bottleneck.utilisation:.1%} used after start-up",
            )
    if summary.sessions:
        expected = [r for session in summary.sessions for r in session.receivers if r.expected]
        complete = sum(receiver.complete for receiver in expected)
        style = "bold green" if summary.ok else "bold red"
        console.print(Text(f"{complete} of {len(expected)} receivers hold the whole file", style=style))
    if summary.outcome != "done":
        _note(console, f"ended by: {summary.outcome}")
    _note(console, f"run folder: {summary.run_folder} (report.html, summary.json, series/, logs/)")


def _session_table(session: SessionResult) -> Table:
    table = Table()
    table.add_column("receiver")
    table.add_column("SHA-256")
    for column in ("goodput", "losses", "repairs"):
        table.add_column(column, justify="right")
    table.add_column("detail", overflow="fold")
    for receiver in session.receivers:
        if receiver.complete:
            verdict = Text("same", style="green")
        else:
            verdict = Text(
                "missing" if receiver.sha256 is None else "differs", style="red" if receiver.expected else ""
            )
        table.add_row(
            receiver.host,
            verdict,
            "" if receiver.goodput_bps is None else format_measured_rate(receiver.goodput_bps),
            "" if receiver.lost_packets is None else str(receiver.lost_packets),
            "" if receiver.repaired_packets is None else str(receiver.repaired_packets),
            Text(receiver.detail),
        )
    return table


def _detail(text: str) -> str:
    return f" ({text})" if text else ""


def _note(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
