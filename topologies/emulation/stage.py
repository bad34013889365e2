"""A testbed as a stage: real time, in which switches and controller may end by themselves and are started again."""

import time
from collections.abc import Iterator, Mapping

from engine.command.signals import uninterruptible
from topologies.agenda import Agenda
from topologies.emulation.child import stop_all
from topologies.emulation.flow_run import FlowRun
from topologies.emulation.live_view import LiveView
from topologies.emulation.sampler import Sampler
from topologies.emulation.session_run import SessionRun
from topologies.emulation.testbed import CONTROLLER, Testbed
from topologies.plan import Source
from topologies.scenario.scenario import Scenario
from topologies.stage import Stage, StartController, StartSwitch, Step

RESPAWN_DELAY_S = 0.5
"""A switch or controller that ended by itself is started again after this."""
_LEAST_PAUSE_S = 1e-3


class EmulatedStage(Stage):
    """Times are seconds since the network was ready. ChildError or NodeError when something cannot be done."""

    def __init__(
        self, scenario: Scenario, testbed: Testbed, sources: Mapping[int, Source], sampler: Sampler, view: LiveView
    ) -> None:
        self.agenda = Agenda()
        self.notes: list[str] = []
        """What ended by itself."""
        network, folder = testbed.network, testbed.folder
        self.sessions: list[SessionRun] = [
            SessionRun(scenario, number, sources[session.id], network, folder, testbed.state, sampler, testbed.hop_keys)
            for number, session in enumerate(scenario.sessions)
        ]
        self.flows: list[FlowRun] = [
            FlowRun(scenario, number, network, folder, sampler.epoch) for number in range(len(scenario.traffic))
        ]
        for session in self.sessions:
            session.place_strangers()
        self._testbed = testbed
        self._sampler = sampler
        self._view = view
        self._begin = time.monotonic()

    def stop(self) -> None:
        """End all agents and flows."""
        with uninterruptible():
            for session in self.sessions:
                session.note_endings()
            agents = [child for session in self.sessions for child in (*session.children, *session.strangers)]
            stop_all(agents + [child for flow in self.flows for child in flow.children], grace_s=1.0)

    # --- what the scenario says

    def set_link(self, one: str, other: str, *, up: bool) -> None:
        """At its switches' ends, so that hosts keep their addresses and routes."""
        self._testbed.set_link(one, other, up=up)

    def set_link_delay(self, one: str, other: str, delay_s: float) -> None:
        """The embedded switches at its ends are told."""
        self._testbed.network.change_link(one, other, {"delay_s": delay_s})

    def set_link_rate(self, one: str, other: str, rate_bps: float) -> None:
        """The embedded switches at its ends are told."""
        self._testbed.network.change_link(one, other, {"rate_bps": rate_bps})

    def kill_switch(self, name: str) -> None:
        """kill -9."""
        self._testbed.kill_node(name)

    def start_switch(self, name: str) -> None:
        """It is not waited for."""
        self._testbed.start_node(name)

    def kill_controller(self) -> None:
        """kill -9."""
        self._testbed.kill_node(CONTROLLER)

    def start_controller(self) -> None:
        """It is not waited for."""
        self._testbed.start_node(CONTROLLER)

    # --- time, and what is seen

    @property
    def now(self) -> float:
        """Seconds since the network was ready."""
        return time.monotonic() - self._begin

    def pass_time(self, until: float) -> float:
        """Sleep, a moment at least, so that a machine that comes too late for everything is not kept busy by that."""
        time.sleep(max(until - self.now, _LEAST_PAUSE_S))
        return self.now

    def look_after(self) -> Iterator[tuple[float, Step]]:
        """Start again what ended although the scenario did not say so, as an operator's supervisor would."""
        for name, ending in self._testbed.take_deaths():
            note = f"{name} {ending} and is started again"
            self.notes.append(f"at {self.now:.1f} s {note}")
            self._sampler.event(self.now, "died", name)
            self._view.note(f"{self.now:6.1f} s  {note}")
            yield self.now + RESPAWN_DELAY_S, StartController() if name == CONTROLLER else StartSwitch(name)

    def measure(self) -> None:
        """Take a sample and show it."""
        self._sampler.sample()
        for session in self.sessions:
            session.note_deaths()
        self._view.update(self._sampler, self.now)

    def note_member(self, kind: str, session: int, host: str) -> None:
        """At the time of now."""
        self._sampler.member(self.now, kind, session, host)

    def note_fault(self, kind: str, subject: str) -> None:
        """Once it has been done, at the time of then."""
        self._sampler.event(self.now, kind, subject)
        self._view.note(f"{self.now:6.1f} s  {kind} {subject}".rstrip())
