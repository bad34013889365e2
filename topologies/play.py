"""Plays a scenario on a stage: does what it says when it says so, and measures meanwhile."""

import math
from collections.abc import Iterator
from functools import partial

from engine.command.signals import Interrupted
from topologies import stage as steps
from topologies.results.summary import INTERRUPTED
from topologies.scenario.activity import (
    Attack,
    ControllerRestart,
    Fault,
    LinkDelay,
    LinkDown,
    LinkRate,
    ReceiverDies,
    SwitchRestart,
)
from topologies.scenario.scenario import Scenario
from topologies.stage import Stage, Step

LINGER_S = 5.0
"""How long receivers may still take when the sender has ended."""


def scenario_steps(scenario: Scenario) -> Iterator[tuple[float, Step]]:
    """All of a scenario's steps, and when they are due; those of one time in their order. Receivers that join when the
    sender starts come before it."""
    for number, session in enumerate(scenario.sessions):
        for receiver in session.receivers:
            yield receiver.join, steps.JoinReceiver(number, receiver.host)
            if receiver.leave is not None:
                yield receiver.leave, steps.LeaveReceiver(number, receiver.host)
    for number, session in enumerate(scenario.sessions):
        yield session.start, steps.StartSender(number)
    for number, flow in enumerate(scenario.traffic):
        yield flow.start, steps.StartFlow(number)
        if flow.stop is not None:
            yield flow.stop, steps.StopFlow(number)
    for fault in scenario.faults:
        yield from _fault_steps(scenario, fault)


def _fault_steps(scenario: Scenario, fault: Fault) -> Iterator[tuple[float, Step]]:
    match fault:
        case LinkDown():
            yield fault.at, steps.LinkDown(*fault.link)
            if fault.duration is not None:
                yield fault.at + fault.duration, steps.LinkUp(*fault.link)
        case LinkDelay():
            yield fault.at, steps.LinkDelay(*fault.link, fault.delay)
        case LinkRate():
            yield fault.at, steps.LinkRate(*fault.link, fault.rate)
        case SwitchRestart():
            yield fault.at, steps.KillSwitch(fault.switch)
            yield fault.at + fault.outage, steps.StartSwitch(fault.switch)
        case ReceiverDies():
            number = next(i for i, session in enumerate(scenario.sessions) if session.id == fault.session)
            yield fault.at, steps.KillReceiver(number, fault.host)
        case Attack():
            number = next(i for i, session in enumerate(scenario.sessions) if session.id == fault.session)
            yield fault.at, steps.Attack(number, fault)
        case ControllerRestart():
            yield fault.at, steps.KillController()
            yield fault.at + fault.outage, steps.StartController()


class Play:
    """One run of a scenario on a stage. Times are seconds in the run, by the stage's clock, virtual or real."""

    def __init__(self, scenario: Scenario, stage: Stage, sample_s: float) -> None:
        """`sample_s` is the time between two samples."""
        self.lingered = False
        """Whether it ended without some receivers, which took too long when the senders had ended."""
        self._stage = stage
        self._sessions = scenario.sessions
        self._agenda = stage.agenda
        self._ended_at: float | None = None
        self._measures = True
        for at, step in scenario_steps(scenario):
            self._add(at, step)
        self._agenda.every(sample_s, self._measure)

    def run(self, until: float) -> str:
        """Play until every session has ended, or the time is over; `done`, `time limit` or `interrupted`.

        A run that only a signal is to end, `until` infinity, is done by it. What a step raises comes out of here."""
        try:
            self._agenda.run_due(0.0)
            while self._agenda.now < until:
                self._go_on(until)
                if self._is_over():
                    return "done"
        except Interrupted:
            self._agenda.now = max(self._agenda.now, self._stage.now)
            return "done" if until == math.inf else INTERRUPTED
        return "time limit" if self._stage.sessions else "done"

    def idle(self) -> None:
        """Go on, but measure no more, until a signal comes."""
        self._measures = False
        try:
            while True:
                self._go_on(math.inf)
        except Interrupted:
            return

    def _go_on(self, until: float) -> None:
        """To the next time at which something is due."""
        self._agenda.run_due(self._stage.pass_time(min(self._agenda.next_at, until)))
        for at, step in self._stage.look_after():
            self._add(at, step)

    def _is_over(self) -> bool:
        sessions = self._stage.sessions
        if not sessions or not all(session.sender_is_over for session in sessions):
            return False
        now = self._agenda.now
        self._ended_at = now if self._ended_at is None else self._ended_at
        self.lingered = now > self._ended_at + LINGER_S
        return self.lingered or all(session.is_over for session in sessions)

    def _add(self, at: float, step: Step) -> None:
        self._agenda.at(at, partial(self._do, step))

    def _do(self, step: Step, _now: float) -> None:
        step.do(self._stage)
        if isinstance(step, steps.ReceiverStep):
            self._stage.note_member(step.member, self._sessions[step.session].id, step.host)
        if step.fault:
            self._stage.note_fault(step.fault, step.label)

    def _measure(self, _now: float) -> None:
        if self._measures:
            self._stage.measure()
