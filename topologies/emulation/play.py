"""Plays a scenario on a testbed: does what it says when it says so, and measures meanwhile."""

import time
from collections.abc import Mapping

from engine.command.signals import Interrupted, uninterruptible
from topologies.emulation.child import stop_all
from topologies.emulation.flow_run import FlowRun
from topologies.emulation.live_view import LiveView
from topologies.emulation.sampler import INTERVAL_S, Sampler
from topologies.emulation.session_run import SessionRun
from topologies.emulation.testbed import CONTROLLER, Testbed
from topologies.plan.sources import Source
from topologies.plan.timeline import LINGER_S, Step, scenario_timeline
from topologies.scenario.scenario import Scenario

RESPAWN_DELAY_S = 0.5
"""A switch or controller that ended by itself is started again after this."""


class Play:
    """The sessions, the cross traffic and the faults of one run."""

    def __init__(
        self,
        scenario: Scenario,
        testbed: Testbed,
        sources: Mapping[int, Source],
        sampler: Sampler,
        view: LiveView,
    ) -> None:
        self.notes: list[str] = []
        self.sessions = [
            SessionRun(scenario, number, sources[session.id], testbed.network, testbed.folder, testbed.state)
            for number, session in enumerate(scenario.sessions)
        ]
        self.flows = [
            FlowRun(scenario, number, flow, testbed.network, testbed.folder, sampler.epoch)
            for number, flow in enumerate(scenario.traffic)
        ]
        self._scenario = scenario
        self._testbed = testbed
        self._sampler = sampler
        self._view = view
        self._timeline = scenario_timeline(scenario)
        self._begin = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the network was ready."""
        return time.monotonic() - self._begin

    def run(self, *, until_interrupted: bool = False) -> str:
        """Play until every session has ended, or the time is over; `done`, `time limit` or `interrupted`.

        Without sessions `until_interrupted` lifts the time limit. ChildError or NodeError when something could not be
        done."""
        endless = until_interrupted and not self.sessions
        next_sample = 0.0
        ended_at: float | None = None
        try:
            while endless or self.now < self._scenario.duration:
                self._do_what_is_due()
                self._revive()
                if self.now >= next_sample:
                    self.measure()
                    next_sample = max(next_sample + INTERVAL_S, self.now)
                if self.sessions and all(session.sender_is_over for session in self.sessions):
                    ended_at = self.now if ended_at is None else ended_at
                    if all(session.is_over for session in self.sessions) or self.now > ended_at + LINGER_S:
                        return "done"
                due = min(next_sample, next_sample if self._timeline.next_at is None else self._timeline.next_at)
                time.sleep(max(due - self.now, 1e-3))
        except Interrupted:
            return "done" if endless else "interrupted"
        return "time limit" if self.sessions else "done"

    def idle(self) -> None:
        """Keep the network up, and its switches and controller alive, until a signal comes."""
        try:
            while True:
                self._do_what_is_due()
                self._revive()
                time.sleep(INTERVAL_S)
        except Interrupted:
            return

    def stop(self) -> None:
        """End all agents and flows."""
        with uninterruptible():
            for session in self.sessions:
                session.note_endings()
            agents = [child for session in self.sessions for child in session.children]
            stop_all(agents + [child for flow in self.flows for child in flow.children], grace_s=1.0)

    def measure(self) -> None:
        """Take a sample and show it."""
        self._sampler.sample()
        for session in self.sessions:
            session.note_deaths(self._sampler.sessions.get(session.session.id))
        self._view.update(self._sampler, self.now)

    def _do_what_is_due(self) -> None:
        while (step := self._timeline.pop_due(self.now)) is not None:
            self._do(step)
            if step.is_fault:
                self._sampler.event(self.now, step.action, step.label)
                self._view.note(f"{self.now:6.1f} s  {step.action} {step.label}".rstrip())

    def _revive(self) -> None:
        """Start again what ended although the scenario did not say so, as an operator's supervisor would."""
        for name, ending in self._testbed.take_deaths():
            note = f"{name} {ending} and is started again"
            self.notes.append(f"at {self.now:.1f} s {note}")
            self._sampler.event(self.now, "died", name)
            self._view.note(f"{self.now:6.1f} s  {note}")
            again = Step("start controller", ()) if name == CONTROLLER else Step("start switch", (name,), name)
            self._timeline.add(self.now + RESPAWN_DELAY_S, again)

    def _do(self, step: Step) -> None:
        match step.action, step.subject:
            case "start receiver", (int(number), int(index)):
                self.sessions[number].start_receiver(self._scenario.sessions[number].receivers[index])
            case "start sender", (int(number),):
                self.sessions[number].start_sender(self.now)
            case "leave", (int(number), int(index)):
                self.sessions[number].leave(self._scenario.sessions[number].receivers[index].host)
            case "kill receiver", (int(number), int(index)):
                self.sessions[number].kill_receiver(self._scenario.sessions[number].receivers[index].host)
            case "start flow", (int(number),):
                self.flows[number].start()
            case "stop flow", (int(number),):
                self.flows[number].stop()
            case "link down", (str(one), str(other)):
                self._testbed.set_link(one, other, up=False)
            case "link up", (str(one), str(other)):
                self._testbed.set_link(one, other, up=True)
            case "kill switch", (str(name),):
                self._testbed.kill_node(name)
            case "start switch", (str(name),):
                self._testbed.start_node(name)
            case "kill controller", ():
                self._testbed.kill_node(CONTROLLER)
            case "start controller", ():
                self._testbed.start_node(CONTROLLER)
            case _:
                raise ValueError(f"no such step: {step}")
