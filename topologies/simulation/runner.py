"""Runs a scenario in virtual time, from a file to a run folder."""

import contextlib
import resource
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from controller.program import Program
from engine.command.signals import interruptible, uninterruptible
from topologies.plan.plan import Plan, derive_seed, make_plan, network_description
from topologies.plan.sources import prepare_sources
from topologies.results.results import Summary
from topologies.results.run_folder import RunFolder, create_run_folder, remove_files
from topologies.results.series import RunSeries
from topologies.results.summarize import summarize, write_results
from topologies.scenario.network import Router
from topologies.scenario.scenario import Scenario
from topologies.simulation.agenda import Agenda
from topologies.simulation.control import ControlPlane
from topologies.simulation.network import SimulatedNetwork
from topologies.simulation.play import Play
from topologies.simulation.progress import Progress, SilentView, View
from topologies.simulation.switch import SimulatedSwitch


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """What the command line says about a simulated run."""

    scenario_file: Path
    file: Path | None = None
    """Sent instead of the scenario's."""
    out: Path | None = None
    until: float | None = None
    """Ends the run at this virtual time, seconds, if the scenario would go on."""
    keep_files: bool = False
    """Keep what receivers received, and what was made to be sent."""
    report: bool = True
    """Draw the report."""


def simulate_scenario(
    scenario: Scenario,
    options: SimulationOptions,
    make_view: Callable[[], View] = SilentView,
) -> Summary:
    """Run a scenario to its end, or until a signal comes: then with the results so far.

    RunFolderError, SourceError, ProgramError: nothing was run. SimError, FileError: it could not go on."""
    started = datetime.now().astimezone()
    folder = create_run_folder(options.scenario_file, scenario.name, options.out, started)
    sources = prepare_sources(scenario, options.scenario_file.parent, options.file, folder.sources)
    plan = make_plan(scenario)
    _allow_files(scenario)
    until = scenario.duration if options.until is None else min(options.until, scenario.duration)
    with interruptible(), contextlib.ExitStack() as stack:
        agenda = Agenda()
        network, control = _build(scenario, plan, agenda, folder)
        if control is not None:
            stack.callback(control.close)
            control.start()
        series = RunSeries(plan, folder, epoch=0.0)
        stack.callback(series.close)
        view = make_view()
        stack.callback(view.close)
        play = Play(scenario, network, control, agenda, sources, folder, series, view, keep_files=options.keep_files)
        outcome = play.run(until)
        with uninterruptible():
            play.measure()
            view.close()
            wall = (datetime.now().astimezone() - started).total_seconds()
            progress = Progress(agenda.now, until, wall, network.sim.events)
            summary = summarize(
                scenario,
                plan,
                folder,
                [session.finish() for session in play.sessions],
                [flow.finish() for flow in play.flows],
                switch="simulated" if control is not None else "router",
                started=started,
                epoch=0.0,
                duration_s=play.duration(outcome),
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
    scenario: Scenario, plan: Plan, agenda: Agenda, folder: RunFolder
) -> tuple[SimulatedNetwork, ControlPlane | None]:
    """The network, and its controller if it has P4 switches."""
    if not scenario.switches:
        return SimulatedNetwork(scenario, plan, {}), None
    program = Program()
    switches = {
        name: SimulatedSwitch(name, program, derive_seed(scenario.seed, f"switch {name}")) for name in scenario.switches
    }
    network = SimulatedNetwork(scenario, plan, {name: switch.data_plane for name, switch in switches.items()})
    delay = scenario.simulation.control_delay
    for switch in switches.values():
        switch.attach(network.sim, agenda, delay)
    events = folder.logs / "controller-events.jsonl"
    return network, ControlPlane(network_description(scenario, plan), program, switches, agenda, events, delay)
