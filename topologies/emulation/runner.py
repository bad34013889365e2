"""Runs a scenario in real time, from a file to a run folder."""

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engine.command.signals import interruptible, uninterruptible
from topologies.emulation.live_view import LiveView
from topologies.emulation.play import Play
from topologies.emulation.requirements import RequirementError, check_requirements
from topologies.emulation.sampler import Sampler
from topologies.emulation.state import remove_leftovers
from topologies.emulation.testbed import Testbed, running_testbed
from topologies.plan.sources import prepare_sources
from topologies.results.results import Summary
from topologies.results.run_folder import create_run_folder, remove_files
from topologies.results.summarize import summarize, write_results
from topologies.scenario.activity import TcpFlow
from topologies.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says about a run."""

    scenario_file: Path
    file: Path | None = None
    """Sent instead of the scenario's."""
    switch: str = "embedded"
    hold: bool = False
    """Keep the network up after the sessions, until a signal comes."""
    out: Path | None = None
    keep_files: bool = False
    """Keep what receivers received, and what was made to be sent."""


def run_scenario(
    scenario: Scenario,
    options: RunOptions,
    make_view: Callable[[], LiveView],
    on_result: Callable[[Summary], None],
) -> Summary:
    """Run a scenario; `on_result` is told the summary before a held network is taken down.

    To be called once, from the main thread of a process of its own: the process is moved into a new network namespace.
    RequirementError, RunFolderError, StateError, SourceError, NodeError and ChildError say in one line why it cannot
    run. However it ends, nothing of it is left on the machine but the run folder."""
    check_requirements(options.switch)
    check_congestion_controls(scenario)
    remove_leftovers()
    started = datetime.now().astimezone()
    folder = create_run_folder(options.scenario_file, scenario.name, options.out, started)
    base = options.scenario_file.parent
    sources = prepare_sources(scenario, base, options.file, folder.sources)
    with interruptible(), running_testbed(scenario, options.switch, folder) as testbed, contextlib.ExitStack() as stack:
        sampler = Sampler(testbed.plan, folder, testbed.state)
        stack.callback(sampler.close)
        view = make_view()
        stack.callback(view.close)
        for note in testbed.notes:
            view.note(note)
        if options.hold:
            view.note(f"{testbed.state.name} is up: `canopy exec NODE -- COMMAND` runs a program on it; Ctrl-C ends it")
        play = Play(scenario, testbed, sources, sampler, view)
        stack.callback(play.stop)
        outcome = play.run(until_interrupted=options.hold)
        with uninterruptible():
            for flow in play.flows:
                flow.stop()
            play.measure()
            if outcome == "time limit":
                play.stop()  # nobody goes on while the summary says what came of it
            view.close()
            summary = _summarize(scenario, options, testbed, play, sampler, outcome, started)
            write_results(folder, summary)
            if not options.keep_files:
                remove_files(folder)
            on_result(summary)
        if options.hold and outcome != "interrupted" and play.sessions:
            play.idle()
    return summary


def check_congestion_controls(scenario: Scenario) -> None:
    """RequirementError when this kernel's TCP lacks an algorithm that a flow asks for."""
    for flow in scenario.traffic:
        if not isinstance(flow, TcpFlow):
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow.congestion_control.encode())
            except OSError:
                raise RequirementError(
                    f"this kernel's TCP has no congestion control `{flow.congestion_control}`"
                ) from None


def _summarize(
    scenario: Scenario,
    options: RunOptions,
    testbed: Testbed,
    play: Play,
    sampler: Sampler,
    outcome: str,
    started: datetime,
) -> Summary:
    elapsed = play.now
    results = [session.result(sampler.sessions.get(session.session.id), sampler.epoch) for session in play.sessions]
    return summarize(
        scenario,
        testbed.plan,
        testbed.folder,
        results,
        [flow.result() for flow in play.flows],
        switch=options.switch,
        started=started,
        epoch=sampler.epoch,
        duration_s=elapsed,
        outcome=outcome,
        notes=[*testbed.notes, *play.notes],
    )
