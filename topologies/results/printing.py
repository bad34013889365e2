"""A run's result on a terminal, and as an exit status."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine.command.exits import EXIT_FAILED, EXIT_INTERRUPTED
from engine.command.lines import visible
from topologies.results.summary import INTERRUPTED, SessionResult, Summary, what_counts
from topologies.scenario.quantity import format_measured_rate, format_rate, format_size


def print_result(console: Console, summary: Summary, *, as_json: bool) -> None:
    """The summary, for reading or as JSON on standard output."""
    if as_json:
        sys.stdout.write(json.dumps(summary.as_json(), indent=2) + "\n")
        sys.stdout.flush()
    else:
        print_summary(console, summary)


def exit_status(summary: Summary) -> int:
    """Whether every expected receiver holds the whole file, for the shell."""
    if summary.outcome == INTERRUPTED:
        return EXIT_INTERRUPTED
    return 0 if summary.ok else EXIT_FAILED


def print_summary(console: Console, summary: Summary) -> None:
    """The result, for reading."""
    for session in summary.sessions:
        name = session.file
        if session.sha256:
            name += f", {format_size(session.bytes)}, SHA-256 {session.sha256}"
        print_note(console, f"session {session.id}: {name}")
        console.print(_session_table(session))
        for hosts, detail in _details(session):
            print_note(console, f"{', '.join(hosts)}: {detail}")
        counts = [
            f"{number} {what}"
            for number, what in (
                (session.feedback_packets, "feedback packets at the sender"),
                (session.repair_packets, "repairs sent"),
            )
            if number is not None
        ]
        line = f"session {session.id} {session.state}: {', '.join(counts)}" + _detail(session.detail)
        console.print(Text(visible(line), style="bold red" if session.failed else ""), soft_wrap=True)
        if session.dropped:
            policy = "" if session.drop_after_s is None else f" (after {session.drop_after_s:g} s)"
            print_note(console, f"session {session.id}: left behind as too slow{policy}: {', '.join(session.dropped)}")
    for flow in summary.flows:
        goodput = "nothing measured" if flow.goodput_bps is None else format_measured_rate(flow.goodput_bps)
        print_note(console, f"{flow.kind} from {flow.source} to {flow.destination}: {goodput}")
    for bottleneck in summary.bottlenecks:
        if bottleneck.utilisation is not None:
            of = f"session {bottleneck.session}: " if len(summary.sessions) > 1 else ""
            print_note(
                console,
                f"{of}bottleneck {bottleneck.source} -> {bottleneck.destination} ({format_rate(bottleneck.rate_bps)}): "
                f"{bottleneck.utilisation:.1%} used after start-up",
            )
    if summary.sessions:
        expected = [r for session in summary.sessions for r in session.receivers if r.expected]
        complete = sum(receiver.complete for receiver in expected)
        style = "bold green" if summary.ok else "bold red"
        what = what_counts(session.sha256 for session in summary.sessions)
        failed = [str(session.id) for session in summary.sessions if session.failed]
        but = f", but session {', '.join(failed)} failed" if failed and complete == len(expected) else ""
        console.print(Text(f"{complete} of {len(expected)} receivers {what}{but}", style=style))
    if summary.outcome != "done":
        print_note(console, f"ended by: {summary.outcome}")
    report = "report.html, " if (Path(summary.run_folder) / "report.html").exists() else ""
    print_note(console, f"run folder: {summary.run_folder} ({report}summary.json, series/, logs/)")


def _session_table(session: SessionResult) -> Table:
    table = Table()
    table.add_column("receiver")
    table.add_column("SHA-256")
    for column in ("goodput", "losses", "repairs"):
        table.add_column(column, justify="right")
    table.add_column("parent")
    for receiver in session.receivers:
        if receiver.complete:
            verdict = Text("same" if session.sha256 else "", style="green")
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
            receiver.parent or "",
        )
    return table


def _details(session: SessionResult) -> Iterator[tuple[list[str], str]]:
    """What there is to say of receivers, with those of whom it is: below the table, for it is often longer than a
    terminal's line."""
    details = dict.fromkeys(receiver.detail for receiver in session.receivers if receiver.detail)
    for detail in details:
        yield [receiver.host for receiver in session.receivers if receiver.detail == detail], detail


def _detail(text: str) -> str:
    return f" ({text})" if text else ""


def print_note(console: Console, text: str) -> None:
    """One line as it is: brackets in it are no markup."""
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)
