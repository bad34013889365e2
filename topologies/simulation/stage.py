"""A simulated network as a stage: virtual time, which passes as fast as the simulator goes."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from topologies.agenda import Agenda
from topologies.plan import Source
from topologies.results.run_folder import RunFolder
from topologies.results.series import RunSeries
from topologies.scenario.scenario import Scenario
from topologies.simulation.flow_run import FlowRun
from topologies.simulation.network import SimulatedNetwork
from topologies.simulation.progress import Progress, View
from topologies.simulation.session_run import SessionRun
from topologies.stage import Stage

if TYPE_CHECKING:
    from topologies.simulation.control import ControlPlane

FAULT = "fault"
RESTART = "restart"
"""Why a link is down: because the scenario says so, or because a switch at its end is away."""


class SimulatedStage(Stage):
    """Times are seconds of virtual time. SimError when the simulation cannot go on; FileError for a file that cannot be
    read or written."""

    def __init__(
        self,
        scenario: Scenario,
        network: SimulatedNetwork,
        control: "ControlPlane | None",
        agenda: Agenda,
        sources: Mapping[int, Source],
        folder: RunFolder,
        series: RunSeries,
        view: View,
        *,
        until: float,
        keep_files: bool,
    ) -> None:
        """`until` is the run's time limit."""
        self.agenda = agenda
        self.sessions: list[SessionRun] = [
            SessionRun(scenario, number, sources[session.id], network, agenda, folder, series, keep_files=keep_files)
            for number, session in enumerate(scenario.sessions)
        ]
        self.flows: list[FlowRun] = [
            FlowRun(scenario, number, network, agenda, folder) for number in range(len(scenario.traffic))
        ]
        self._network = network
        self._control = control
        self._series = series
        self._view = view
        self._until = until
        self._began = time.monotonic()
        self._measured_at: float | None = None

    # --- what the scenario says

    def set_link(self, one: str, other: str, *, up: bool) -> None:
        """The controller is told of links between switches, as by an operator."""
        if up:
            self._network.release(one, other, FAULT)
        else:
            self._network.hold_down(one, other, FAULT)
        switches = self._network.plan.switches
        if self._control is not None and one in switches and other in switches:
            self._control.set_link(one, other, up=up)

    def set_link_delay(self, one: str, other: str, delay_s: float) -> None:
        """Packets that are on their way already arrive as they would have."""
        self._network.change_link(one, other, {"delay_s": delay_s})

    def set_link_rate(self, one: str, other: str, rate_bps: float) -> None:
        """The packet that is being sent ends as it would have."""
        self._network.change_link(one, other, {"rate_bps": rate_bps})

    def kill_switch(self, name: str) -> None:
        """Its links are down while it is away."""
        self._controller.kill_switch(name)
        for neighbour in self._network.plan.switches[name].number_to:
            self._network.hold_down(name, neighbour, f"{RESTART} {name}")

    def start_switch(self, name: str) -> None:
        """A link whose other end is away too stays down."""
        self._controller.start_switch(name)
        for neighbour in self._network.plan.switches[name].number_to:
            self._network.release(name, neighbour, f"{RESTART} {name}")

    def kill_controller(self) -> None:
        """Switches go on as they are."""
        self._controller.kill_controller()

    def start_controller(self) -> None:
        """It finds the switches as they are."""
        self._controller.start_controller()

    # --- time, and what is seen

    @property
    def now(self) -> float:
        """The simulator's time, which is ahead of the agenda's when a signal has interrupted it."""
        return self._network.sim.now

    def pass_time(self, until: float) -> float:
        """Exactly up to `until`."""
        self._network.sim.run(until)
        return until

    def look_after(self) -> tuple[()]:
        """Show how far it is; nothing goes wrong by itself."""
        wall = time.monotonic() - self._began
        self._view.update(Progress(self.agenda.now, self._until, wall, self._network.sim.events), self.share)
        return ()

    def measure(self) -> None:
        """Write a row for each port, unless that has been done at this time."""
        if self._measured_at != self.agenda.now:
            self._measured_at = self.agenda.now
            self._series.write_ports(self._network.port_rows(self.agenda.now))
            if self._control is not None:
                self._series.write_feedback(self.agenda.now, self._control.feedback_outcomes())

    def note_member(self, kind: str, session: int, host: str) -> None:
        """At the time of now."""
        self._series.member(self.agenda.now, kind, session, host)

    def note_fault(self, kind: str, subject: str) -> None:
        """At the time of the agenda, which is the scenario's."""
        self._series.event(self.agenda.now, kind, subject)
        self._view.note(f"{self.agenda.now:8.3f} s  {kind} {subject}")

    def share(self) -> float | None:
        """How much of their files the sessions' receivers have, 0..1; None without files."""
        shares = [session.share for session in self.sessions if session.session.has_file]
        return sum(shares) / len(shares) if shares else None

    @property
    def closed_at(self) -> float:
        """When the last endpoint of a session that has ended did."""
        return max((session.closed_at for session in self.sessions), default=0.0)

    @property
    def _controller(self) -> "ControlPlane":
        if self._control is None:
            raise ValueError("a network of plain routers has no controller")
        return self._control
