"""`canopy emulate`: a scenario in real time, from a file to a run folder, what is printed, and the exit status."""

import contextlib
import math
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from controller.hop_keys import SECRET_BYTES
from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, SIGNALLED
from engine.command.lines import complain
from engine.command.signals import Interrupted, interruptible, uninterruptible
from hosts import protocols
from topologies.emulation.child import ChildError
from topologies.emulation.live_view import LiveView, make_live_view
from topologies.emulation.nodes import NodeError
from topologies.emulation.requirements import UNCONTROLLED, RequirementError, check_requirements
from topologies.emulation.sampler import INTERVAL_S, Sampler
from topologies.emulation.stage import EmulatedStage
from topologies.emulation.state import StateError, remove_leftovers
from topologies.emulation.testbed import running_testbed
from topologies.plan import SourceError, make_plan, needs_hop_keys, network_description, prepare_sources
from topologies.play import Play
from topologies.results.page import PageError
from topologies.results.printing import exit_status, print_note, print_result
from topologies.results.report import write_results
from topologies.results.run_folder import (
    RunFolderError,
    create_run_folder,
    discard,
    discarded_if_interrupted,
    remove_files,
)
from topologies.results.run_options import RunOptions
from topologies.results.summary import INTERRUPTED, Summary, summarize
from topologies.scenario.activity import ControllerRestart, LinkDelay, LinkRate, SwitchRestart, TcpFlow
from topologies.scenario.congestion import SIMULATED
from topologies.scenario.scenario import Scenario

_KERNELS_CONGESTION_CONTROLS: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True, slots=True)
class EmulationOptions(RunOptions):
    """What the command line says about an emulated run."""

    switch: str = "embedded"
    hold: bool = False
    """Keep the network up after the sessions, until a signal comes."""


def emulate(scenario: Scenario, options: EmulationOptions, *, as_json: bool) -> int:
    """Run the scenario and print its course and result; the exit status."""
    console = Console(stderr=as_json)

    def show(summary: Summary) -> None:
        print_result(console, summary, as_json=as_json)
        if options.hold and summary.sessions and summary.outcome != INTERRUPTED:
            print_note(console, "the network stays up until Ctrl-C")

    try:
        summary = emulate_scenario(
            scenario, options, lambda: make_live_view(console, quiet=as_json or options.quiet), show
        )
    except (RequirementError, PageError, RunFolderError, SourceError, StateError) as error:
        complain(error)
        return EXIT_BAD_INPUT
    except (NodeError, ChildError) as error:
        complain(f"the emulation failed: {error}")
        return EXIT_FAILED
    except Interrupted as interrupt:
        complain("interrupted before the network was up")
        return SIGNALLED + interrupt.number
    if options.page is not None and summary.outcome != INTERRUPTED and not options.hold:
        options.page.wait()
    return exit_status(summary)


def emulate_scenario(
    scenario: Scenario,
    options: EmulationOptions,
    make_view: Callable[[], LiveView],
    on_result: Callable[[Summary], None],
) -> Summary:
    """Run a scenario; `on_result` is told the summary before a held network is taken down.

    To be called once, from the main thread of a process of its own: the process is moved into a new network namespace.
    RequirementError, RunFolderError, StateError, SourceError, NodeError and ChildError say in one line why it cannot
    run. However it ends, nothing of it is left on the machine but the run folder."""
    check_requirements(options.switch)
    check_congestion_controls(scenario)
    check_faults(scenario, options.switch)
    remove_leftovers()
    started = datetime.now().astimezone()
    folder = create_run_folder(options.scenario_file, scenario.name, options.out, started, text=options.text)
    try:
        sources = prepare_sources(scenario, options.scenario_file.parent, options.file, folder.sources)
    except SourceError:
        discard(folder)
        raise
    if options.page is not None:
        options.page.show(folder.path)
    plan = make_plan(scenario)
    hop_secret = secrets.token_bytes(SECRET_BYTES) if needs_hop_keys(scenario) else None
    with (
        discarded_if_interrupted(folder),
        interruptible(),
        running_testbed(plan, network_description(scenario, plan), options.switch, folder, hop_secret) as testbed,
        contextlib.ExitStack() as stack,
    ):
        sampler = Sampler(plan, folder, testbed.state)
        stack.callback(sampler.close)
        view = make_view()
        stack.callback(view.close)
        notes = [*testbed.notes, *hub_notes(scenario, options.switch)]
        for note in notes:
            view.note(note)
        if options.hold:
            view.note(f"{testbed.state.name} is up: `canopy exec NODE -- COMMAND` runs a program on it; Ctrl-C ends it")
        stage = EmulatedStage(scenario, testbed, sources, sampler, view)
        stack.callback(stage.stop)
        play = Play(scenario, stage, INTERVAL_S)
        outcome = play.run(math.inf if options.hold and not stage.sessions else scenario.duration)
        with uninterruptible():
            for flow in stage.flows:
                flow.stop()
            stage.measure()
            if outcome == "time limit":
                stage.stop()  # nobody goes on while the summary says what came of it
            view.close()
            elapsed = stage.now
            summary = summarize(
                scenario,
                plan,
                folder,
                [session.result() for session in stage.sessions],
                [flow.result() for flow in stage.flows],
                switch=options.switch,
                started=started,
                epoch=sampler.epoch,
                duration_s=elapsed,
                outcome=outcome,
                notes=[*notes, *stage.notes],
            )
            write_results(folder, summary, report=options.report)
            if not options.keep_files:
                remove_files(folder)
            on_result(summary)
        if options.hold and outcome != INTERRUPTED and stage.sessions:
            play.idle()
    return summary


def check_faults(scenario: Scenario, switch: str) -> None:
    """RequirementError when a fault changes a link that tc shapes once for all, or kills what a bridge is not; or when
    bridges make a circle, in which packets would go round for ever."""
    for fault in scenario.faults:
        if isinstance(fault, LinkDelay | LinkRate) and switch != "embedded":
            raise RequirementError(f"a {fault.kind} needs embedded switches; tc's links stay as they are")
        if isinstance(fault, SwitchRestart | ControllerRestart) and switch in UNCONTROLLED:
            raise RequirementError(f"a {fault.kind} needs P4 switches; a {switch} is not a program")
    links = [link.between for link in scenario.links]
    if switch in UNCONTROLLED and len(links) >= len(scenario.nodes):
        raise RequirementError(f"the network has a circle, in which a {switch} sends packets round for ever")


def hub_notes(scenario: Scenario, switch: str) -> list[str]:
    """Which sessions' receivers cannot choose a rate: where everything goes to everybody, who leaves a group gets it
    all the same, and its link stays full."""
    if switch not in UNCONTROLLED:
        return []
    return [
        f"session {session.id}: {session.protocol}'s receivers choose among groups, but a {switch} sends all of them "
        "to everybody: their links must have room for all"
        for session in scenario.sessions
        if protocols.get(session.protocol).group_count(session.parameters) > 1
    ]


def check_congestion_controls(scenario: Scenario) -> None:
    """RequirementError when this kernel's TCP lacks a congestion control that a flow asks for."""
    for flow in scenario.traffic:
        if not isinstance(flow, TcpFlow):
            continue
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow.congestion_control.encode())
            except OSError:
                name = flow.congestion_control
                known = ", ".join(_KERNELS_CONGESTION_CONTROLS.read_text(encoding="ascii").split())
                simulated = "; canopy simulate has it" if name in SIMULATED else ""
                raise RequirementError(
                    f"this kernel's TCP has no congestion control `{name}`, only {known}{simulated}"
                ) from None
