"""`canopy simulate`: a scenario in virtual time, from a file to a run folder, what is printed, and the exit status."""

import contextlib
import resource
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from canopy_engine import SimError
from rich.console import Console

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, SIGNALLED
from engine.command.lines import complain
from engine.command.signals import Interrupted, interruptible, uninterruptible
from hosts.wire.manifest import FileError
from topologies.agenda import Agenda
from topologies.plan import (
    Plan,
    SourceError,
    derive_seed,
    make_plan,
    network_description,
    prepare_sources,
    simulated_hop_keys,
)
from topologies.play import Play
from topologies.results.page import PageError
from topologies.results.printing import exit_status, print_note, print_result
from topologies.results.report import write_results
from topologies.results.run_folder import (
    RunFolder,
    RunFolderError,
    create_run_folder,
    discard,
    discarded_if_interrupted,
    remove_files,
)
from topologies.results.run_options import RunOptions
from topologies.results.series import RunSeries
from topologies.results.summary import INTERRUPTED, Summary, summarize
from topologies.scenario.network import Router
from topologies.scenario.scenario import Scenario
from topologies.simulation.network import SimulatedNetwork
from topologies.simulation.progress import Progress, SilentView, View, make_view
from topologies.simulation.stage import SimulatedStage

if TYPE_CHECKING:
    from topologies.simulation.control import ControlPlane


class SwitchesError(Exception):
    """The P4 program of the scenario's switches cannot be used. The message is one line for the user."""


NOT_RUN = (RunFolderError, SourceError, SwitchesError)
FAILURES = (*NOT_RUN, FileError, SimError)
"""What `simulate_scenario` raises; of the first, nothing was run."""


@dataclass(frozen=True, slots=True)
class SimulationOptions(RunOptions):
    """What the command line says about a simulated run."""

    until: float | None = None
    """Ends the run at this virtual time, seconds, if the scenario would go on."""
    on_control: "Callable[[Agenda, ControlPlane], None] | None" = None
    """Told of the P4 switches and their controller before the run begins."""
    program: Path | None = None
    """Folder of the switches' program; None: the one of this project."""


def simulate(scenario: Scenario, options: SimulationOptions, *, as_json: bool) -> int:
    """Simulate the scenario and print its course and result; the exit status."""
    console = Console(stderr=as_json)
    try:
        summary = simulate_scenario(scenario, options, lambda: make_view(console, quiet=as_json or options.quiet))
    except (PageError, *NOT_RUN) as error:
        complain(error)
        return EXIT_BAD_INPUT
    except FAILURES as error:
        complain(f"the simulation failed: {error}")
        return EXIT_FAILED
    except Interrupted as interrupt:
        complain("interrupted before the simulation began")
        return SIGNALLED + interrupt.number
    print_result(console, summary, as_json=as_json)
    if not as_json:
        for note in summary.notes:
            print_note(console, note)
    if options.page is not None and summary.outcome != INTERRUPTED:
        options.page.wait()
    return exit_status(summary)


def simulate_scenario(scenario: Scenario, options: SimulationOptions, view: Callable[[], View] = SilentView) -> Summary:
    """Run a scenario to its end, or until a signal comes: then with the results so far.

    Raises one of FAILURES."""
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
    _allow_files(scenario)
    until = scenario.duration if options.until is None else min(options.until, scenario.duration)
    with discarded_if_interrupted(folder), interruptible(), contextlib.ExitStack() as stack:
        agenda = Agenda()
        network, control = _build(scenario, plan, agenda, folder, options.program)
        if control is not None:
            stack.callback(control.close)
            control.start()
            if options.on_control is not None:
                options.on_control(agenda, control)
        series = RunSeries(plan, folder, epoch=0.0)
        stack.callback(series.close)
        shown = view()
        stack.callback(shown.close)
        stage = SimulatedStage(
            scenario,
            network,
            control,
            agenda,
            sources,
            folder,
            series,
            shown,
            until=until,
            keep_files=options.keep_files,
        )
        play = Play(scenario, stage, scenario.simulation.sample)
        outcome = play.run(until)
        with uninterruptible():
            stage.measure()
            shown.close()
            wall = (datetime.now().astimezone() - started).total_seconds()
            progress = Progress(agenda.now, until, wall, network.sim.events)
            ended_by_itself = outcome == "done" and stage.closed_at > 0 and not play.lingered
            summary = summarize(
                scenario,
                plan,
                folder,
                [session.result() for session in stage.sessions],
                [flow.result() for flow in stage.flows],
                switch="simulated" if control is not None else "router",
                started=started,
                epoch=0.0,
                duration_s=stage.closed_at if ended_by_itself else agenda.now,
                outcome=outcome,
                notes=[str(progress), *(control.notes if control is not None else [])],
            )
            write_results(folder, summary, report=options.report)
            if not options.keep_files:
                remove_files(folder)
    return summary


def with_routers(scenario: Scenario) -> Scenario:
    """The same scenario with plain routers in place of its P4 switches; faults that only those have are left out."""
    routers = {name: Router(kind="router") for name in scenario.switches}
    faults = [fault for fault in scenario.faults if fault.kind not in ("switch-restart", "controller-restart")]
    fields = {name: getattr(scenario, name) for name in Scenario.model_fields}
    # Not `model_copy`: that would copy what has been cached of the old nodes.
    return Scenario.model_construct(**fields | {"nodes": scenario.nodes | routers, "faults": faults})


_OTHER_FILES = 256
"""What a run has open beside its receivers' traces, at most."""


def _allow_files(scenario: Scenario) -> None:
    """Each receiver's trace is an open file; systems commonly let a program have 1,024 unless it asks for more."""
    traced = [len(session.receivers) for session in scenario.sessions]
    needed = sum(count for count in traced if count <= scenario.simulation.traces) + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft not in (resource.RLIM_INFINITY, hard) and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _build(
    scenario: Scenario, plan: Plan, agenda: Agenda, folder: RunFolder, program_folder: Path | None
) -> "tuple[SimulatedNetwork, ControlPlane | None]":
    """The network, and its controller if it has P4 switches, which take a while to load."""
    if not scenario.switches:
        return SimulatedNetwork(plan, {}), None
    from controller.program import ProgramError
    from topologies.simulation.control import ControlPlane
    from topologies.simulation.switch import SimulatedSwitch, program_in

    try:
        program = program_in(program_folder)
    except ProgramError as error:
        raise SwitchesError(str(error)) from None
    switches = {
        name: SimulatedSwitch(name, program, derive_seed(scenario.seed, f"switch {name}")) for name in scenario.switches
    }
    network = SimulatedNetwork(plan, {name: switch.data_plane for name, switch in switches.items()})
    delay = scenario.simulation.control_delay
    for switch in switches.values():
        switch.attach(network.sim, agenda, delay)
    events = folder.logs / "controller-events.jsonl"
    description = network_description(scenario, plan)
    keys = simulated_hop_keys(scenario, plan)
    return network, ControlPlane(description, program, switches, agenda, events, delay, keys)
