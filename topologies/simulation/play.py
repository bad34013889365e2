"""Plays a scenario in virtual time: does what it says when it says so, and measures meanwhile."""

import time
from collections.abc import Mapping
from functools import partial

from engine.command.signals import Interrupted
from topologies.plan.sources import Source
from topologies.plan.timeline import LINGER_S, Step, scenario_timeline
from topologies.results.run_folder import RunFolder
from topologies.results.series import RunSeries
from topologies.scenario.scenario import Scenario
from topologies.simulation.agenda import Agenda
from topologies.simulation.control import ControlPlane
from topologies.simulation.flow_run import FlowRun
from topologies.simulation.network import SimulatedNetwork
from topologies.simulation.progress import Progress, View
from topologies.simulation.session_run import SessionRun

FAULT = "fault"
RESTART = "restart"
"""Why a link is down: because the scenario says so, or because a switch at its end is away."""


class Play:
    """The sessions, the cross traffic and the faults of one run. Times are seconds of virtual time."""

    def __init__(
        self,
        scenario: Scenario,
        network: SimulatedNetwork,
        control: ControlPlane | None,
        agenda: Agenda,
        sources: Mapping[int, Source],
        folder: RunFolder,
        series: RunSeries,
        view: View,
        *,
        keep_files: bool,
    ) -> None:
        self.sessions = [
            SessionRun(scenario, number, sources[session.id], network, agenda, folder, series, keep_files=keep_files)
            for number, session in enumerate(scenario.sessions)
        ]
        self.flows = [FlowRun(scenario, number, network, agenda, folder) for number in range(len(scenario.traffic))]
        self._scenario = scenario
        self._network = network
        self._control = control
        self._agenda = agenda
        self._series = series
        self._view = view
        self._ended_at: float | None = None
        self._lingered = False
        self._measured_at: float | None = None

    def run(self, until: float) -> str:
        """Play until every session has ended, or the time is over; `done`, `time limit` or `interrupted`.

        SimError when the simulation cannot go on; FileError for a file that cannot be read or written."""
        agenda, sim = self._agenda, self._network.sim
        timeline = scenario_timeline(self._scenario)
        while (at := timeline.next_at) is not None:
            step = timeline.pop_due(at)
            if step is not None:
                agenda.at(at, partial(self._do, step))
        agenda.every(self._scenario.simulation.sample, self._measure)
        began = time.monotonic()
        agenda.run_due(0.0)
        try:
            while agenda.now < until:
                now = min(agenda.next_at, until)
                sim.run(now)
                agenda.run_due(now)
                self._view.update(Progress(now, until, time.monotonic() - began, sim.events), self.sessions)
                if self._is_over(now):
                    return "done"
        except Interrupted:
            agenda.now = max(agenda.now, sim.now)
            return "interrupted"
        return "time limit" if self.sessions else "done"

    def duration(self, outcome: str) -> float:
        """How long the run lasted: to the last session's very end, if that is how it ended."""
        closed = max((session.closed_at for session in self.sessions), default=0.0)
        return closed if outcome == "done" and closed > 0 and not self._lingered else self._agenda.now

    def _is_over(self, now: float) -> bool:
        if not self.sessions or not all(session.sender_is_over for session in self.sessions):
            return False
        self._ended_at = now if self._ended_at is None else self._ended_at
        self._lingered = now > self._ended_at + LINGER_S
        return self._lingered or all(session.is_over for session in self.sessions)

    def measure(self) -> None:
        """Write a row for each port, unless that has been done at this time."""
        if self._measured_at != self._agenda.now:
            self._measure(self._agenda.now)

    def _measure(self, now: float) -> None:
        self._measured_at = now
        self._series.write_ports(self._network.port_rows(now))

    def _do(self, step: Step, now: float) -> None:
        match step.action, step.subject:
            case "start receiver", (int(number), int(index)):
                self.sessions[number].start_receiver(self._scenario.sessions[number].receivers[index])
            case "start sender", (int(number),):
                self.sessions[number].start_sender()
            case "leave", (int(number), int(index)):
                self.sessions[number].leave(self._scenario.sessions[number].receivers[index].host)
            case "kill receiver", (int(number), int(index)):
                self.sessions[number].kill_receiver(self._scenario.sessions[number].receivers[index].host)
            case "start flow", (int(number),):
                self.flows[number].start()
            case "stop flow", (int(number),):
                self.flows[number].stop()
            case "link down", (str(one), str(other)):
                self._set_link(one, other, up=False)
            case "link up", (str(one), str(other)):
                self._set_link(one, other, up=True)
            case "link delay", (str(one), str(other), float(delay)):
                self._network.set_delay(self._scenario, one, other, delay)
            case _:
                self._do_to_control(step)
        if step.is_fault:
            self._series.event(now, step.action, step.label)
            self._view.note(f"{now:8.3f} s  {step.action} {step.label}")

    def _do_to_control(self, step: Step) -> None:
        """Faults of what only a network of P4 switches has."""
        control = self._control
        if control is None:
            raise ValueError(f"no such step without a controller: {step}")
        match step.action, step.subject:
            case "kill switch", (str(name),):
                control.kill_switch(name)
                for neighbour in self._network.plan.switches[name].number_to:
                    self._network.hold_down(name, neighbour, f"{RESTART} {name}")
            case "start switch", (str(name),):
                control.start_switch(name)
                for neighbour in self._network.plan.switches[name].number_to:
                    self._network.release(name, neighbour, f"{RESTART} {name}")
            case "kill controller", ():
                control.kill_controller()
            case "start controller", ():
                control.start_controller()
            case _:
                raise ValueError(f"no such step: {step}")

    def _set_link(self, one: str, other: str, *, up: bool) -> None:
        if up:
            self._network.release(one, other, FAULT)
        else:
            self._network.hold_down(one, other, FAULT)
        switches = self._network.plan.switches
        if self._control is not None and one in switches and other in switches:
            self._control.set_link(one, other, up=up)
