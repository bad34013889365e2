"""What happens when: a scenario's joins, leaves, flows and faults as one ordered list. No I/O and no clock."""

import heapq
from dataclasses import dataclass
from typing import Literal, TypeAlias

from topologies.scenario.activity import ControllerRestart, Fault, LinkDelay, LinkDown, ReceiverDies, SwitchRestart
from topologies.scenario.scenario import Scenario

LINGER_S = 5.0
"""How long receivers may still take when the sender has ended."""
RECEIVERS_WAIT_S = 60.0
"""How long a sender waits for receivers that should have joined: their processes may start slowly on a busy machine."""

Action: TypeAlias = Literal[
    "start receiver",
    "start sender",
    "start flow",
    "leave",
    "stop flow",
    "link down",
    "link up",
    "link delay",
    "kill switch",
    "start switch",
    "kill receiver",
    "kill controller",
    "start controller",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do. `subject` names what it is done to: indices of the scenario's lists, or nodes."""

    action: Action
    subject: tuple[int | float | str, ...]
    label: str = ""
    """The subject for a person."""

    @property
    def is_fault(self) -> bool:
        """Whether it belongs to a fault (and is marked in plots)."""
        return self.action.split()[0] in ("link", "kill") or self.action in ("start switch", "start controller")


class Timeline:
    """Steps by time; steps of the same time come in the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Step]] = []
        self._added = 0

    def add(self, at: float, step: Step) -> None:
        """Add a step at `at` seconds."""
        heapq.heappush(self._heap, (at, self._added, step))
        self._added += 1

    @property
    def next_at(self) -> float | None:
        """When the next step is due; None when none is left."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Step | None:
        """Take the next step if it is due."""
        return heapq.heappop(self._heap)[2] if self._heap and self._heap[0][0] <= now else None


def scenario_timeline(scenario: Scenario) -> Timeline:
    """All of a scenario's steps. Receivers that join when the sender starts come before it."""
    timeline = Timeline()
    for number, session in enumerate(scenario.sessions):
        for index, receiver in enumerate(session.receivers):
            timeline.add(receiver.join, Step("start receiver", (number, index)))
            if receiver.leave is not None:
                timeline.add(receiver.leave, Step("leave", (number, index)))
    for number, session in enumerate(scenario.sessions):
        timeline.add(session.start, Step("start sender", (number,)))
    for number, flow in enumerate(scenario.traffic):
        timeline.add(flow.start, Step("start flow", (number,)))
        if flow.stop is not None:
            timeline.add(flow.stop, Step("stop flow", (number,)))
    for fault in scenario.faults:
        _add_fault(timeline, scenario, fault)
    return timeline


def _add_fault(timeline: Timeline, scenario: Scenario, fault: Fault) -> None:
    match fault:
        case LinkDown():
            label = " - ".join(fault.link)
            timeline.add(fault.at, Step("link down", fault.link, label))
            if fault.duration is not None:
                timeline.add(fault.at + fault.duration, Step("link up", fault.link, label))
        case LinkDelay():
            label = f"{' - '.join(fault.link)}: {fault.delay * 1e3:g} ms"
            timeline.add(fault.at, Step("link delay", (*fault.link, fault.delay), label))
        case SwitchRestart():
            timeline.add(fault.at, Step("kill switch", (fault.switch,), fault.switch))
            timeline.add(fault.at + fault.outage, Step("start switch", (fault.switch,), fault.switch))
        case ReceiverDies():
            number = next(i for i, session in enumerate(scenario.sessions) if session.id == fault.session)
            hosts = [receiver.host for receiver in scenario.sessions[number].receivers]
            timeline.add(fault.at, Step("kill receiver", (number, hosts.index(fault.host)), fault.host))
        case ControllerRestart():
            timeline.add(fault.at, Step("kill controller", ()))
            timeline.add(fault.at + fault.outage, Step("start controller", ()))
