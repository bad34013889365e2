"""What a scenario does when, on a stage that only writes it down; its sessions end when a test says so."""

import math
from collections.abc import Iterable

import pytest

from engine.command.signals import Interrupted
from tests.topologies.scenarios import small_scenario
from topologies import stage as steps
from topologies.agenda import Agenda
from topologies.play import LINGER_S, Play, scenario_steps
from topologies.scenario import Scenario
from topologies.scenario.activity import Attack
from topologies.stage import Stage, Step

SAMPLE_S = 0.5


class Session:
    """Its sender ends at one time, its receivers at another."""

    def __init__(self, stage: "Recorder", sender_ends: float, receivers_end: float) -> None:
        self._stage = stage
        self._ends = sender_ends, receivers_end

    def start_sender(self) -> None:
        self._stage.done.append("start sender")

    def join_receiver(self, host: str) -> None:
        self._stage.done.append(f"join {host}")

    def leave_receiver(self, host: str) -> None:
        self._stage.done.append(f"leave {host}")

    def kill_receiver(self, host: str) -> None:
        self._stage.done.append(f"kill {host}")

    def attack(self, fault: Attack) -> None:
        self._stage.done.append(f"attack {fault.forgery}")

    @property
    def sender_is_over(self) -> bool:
        return self._stage.now >= self._ends[0]

    @property
    def is_over(self) -> bool:
        return self._stage.now >= max(self._ends)


class Flow:
    """Starts and stops."""

    def __init__(self, stage: "Recorder") -> None:
        self._stage = stage

    def start(self) -> None:
        self._stage.done.append("start flow")

    def stop(self) -> None:
        self._stage.done.append("stop flow")


class Recorder(Stage):
    """Writes down what is done on it. A signal comes at `interrupted_at`; at `dies_at` a switch ends by itself."""

    def __init__(
        self,
        scenario: Scenario,
        sender_ends: float = math.inf,
        receivers_end: float = math.inf,
        interrupted_at: float = math.inf,
        dies_at: float = math.inf,
    ) -> None:
        self.agenda = Agenda()
        self.sessions = [Session(self, sender_ends, receivers_end) for _ in scenario.sessions]
        self.flows = [Flow(self) for _ in scenario.traffic]
        self.done: list[str] = []
        self.members: list[tuple[str, int, str]] = []
        self.noted: list[tuple[float, str]] = []
        self.samples: list[float] = []
        self._now = 0.0
        self._interrupted_at = interrupted_at
        self._dies_at = dies_at

    def set_link(self, one: str, other: str, *, up: bool) -> None:
        self.done.append(f"link {one} {other} {'up' if up else 'down'}")

    def set_link_delay(self, one: str, other: str, delay_s: float) -> None:
        self.done.append(f"link {one} {other} {delay_s:g} s")

    def set_link_rate(self, one: str, other: str, rate_bps: float) -> None:
        self.done.append(f"link {one} {other} {rate_bps:g} bps")

    def kill_switch(self, name: str) -> None:
        self.done.append(f"kill {name}")

    def start_switch(self, name: str) -> None:
        self.done.append(f"start {name}")

    def kill_controller(self) -> None:
        self.done.append("kill controller")

    def start_controller(self) -> None:
        self.done.append("start controller")

    @property
    def now(self) -> float:
        return self._now

    def pass_time(self, until: float) -> float:
        if until >= self._interrupted_at:
            self._now = self._interrupted_at
            raise Interrupted(2)
        self._now = until
        return until

    def look_after(self) -> Iterable[tuple[float, Step]]:
        if self._now >= self._dies_at:
            self._dies_at = math.inf
            yield self._now + 0.1, steps.StartSwitch("s1")

    def measure(self) -> None:
        self.samples.append(self.agenda.now)

    def note_member(self, kind: str, session: int, host: str) -> None:
        self.members.append((kind, session, host))

    def note_fault(self, kind: str, subject: str) -> None:
        self.noted.append((self.agenda.now, f"{kind} {subject}".strip()))


def without_sessions() -> Scenario:
    return small_scenario().model_copy(update={"sessions": [], "faults": []})


def test_everything_happens_at_its_time_and_receivers_come_before_their_sender() -> None:
    assert sorted(scenario_steps(small_scenario()), key=lambda due: due[0]) == [
        (0.0, steps.JoinReceiver(0, "b")),
        (0.0, steps.JoinReceiver(1, "c")),
        (0.0, steps.StartSender(0)),
        (0.0, steps.StartFlow(0)),
        (0.0, steps.StartFlow(2)),
        (1.0, steps.StartSender(1)),
        (1.0, steps.StartFlow(1)),
        (2.0, steps.JoinReceiver(0, "c")),
        (3.0, steps.KillSwitch("s2")),
        (3.5, steps.StartSwitch("s2")),
        (4.0, steps.KillReceiver(0, "c")),
        (5.0, steps.StopFlow(1)),
        (6.0, steps.LinkDown("s2", "s1")),
        (7.0, steps.LinkUp("s2", "s1")),
        (8.0, steps.KillController()),
        (9.0, steps.LeaveReceiver(0, "c")),
        (10.0, steps.StartController()),
    ]


def test_a_stage_is_told_each_step_once_and_in_order() -> None:
    stage = Recorder(small_scenario())
    assert Play(small_scenario(), stage, SAMPLE_S).run(30.0) == "time limit"
    assert stage.done == [
        *("join b", "join c", "start sender", "start flow", "start flow", "start sender", "start flow", "join c"),
        *("kill s2", "start s2", "kill c", "stop flow", "link s2 s1 down", "link s2 s1 up", "kill controller"),
        *("leave c", "start controller"),
    ]
    assert stage.samples == [SAMPLE_S * count for count in range(61)]


def test_faults_are_told_from_the_rest_and_have_a_name() -> None:
    stage = Recorder(small_scenario())
    Play(small_scenario(), stage, SAMPLE_S).run(30.0)
    assert stage.noted == [
        (3.0, "kill switch s2"),
        (3.5, "start switch s2"),
        (4.0, "kill receiver c"),
        (6.0, "link down s2 - s1"),
        (7.0, "link up s2 - s1"),
        (8.0, "kill controller"),
        (10.0, "start controller"),
    ]


def test_a_links_delay_is_a_fault_too() -> None:
    stage = Recorder(small_scenario())
    step = steps.LinkDelay("s1", "s2", 0.04)
    step.do(stage)
    assert stage.done == ["link s1 s2 0.04 s"]
    assert (step.fault, step.label) == ("link delay", "s1 - s2: 40 ms")


def test_a_links_rate_is_a_fault_too() -> None:
    stage = Recorder(small_scenario())
    step = steps.LinkRate("s1", "s2", 2.5e6)
    step.do(stage)
    assert stage.done == ["link s1 s2 2.5e+06 bps"]
    assert (step.fault, step.label) == ("link rate", "s1 - s2: 2.5 Mbps")


@pytest.mark.parametrize(
    ("sender_ends", "receivers_end", "ended_at", "lingered"),
    [(12.2, 12.2, 12.5, False), (12.2, 14.0, 14.0, False), (12.0, math.inf, 12.0 + LINGER_S + SAMPLE_S, True)],
    ids=["together", "soon", "never"],
)
def test_a_run_is_done_when_its_sessions_are_or_their_receivers_have_had_time(
    sender_ends: float, receivers_end: float, ended_at: float, lingered: bool
) -> None:
    stage = Recorder(small_scenario(), sender_ends, receivers_end)
    play = Play(small_scenario(), stage, SAMPLE_S)
    assert play.run(30.0) == "done"
    assert (stage.now, play.lingered) == (ended_at, lingered)


def test_without_sessions_a_run_is_done_when_its_time_is_over() -> None:
    stage = Recorder(without_sessions())
    assert Play(without_sessions(), stage, SAMPLE_S).run(7.7) == "done"
    assert (stage.now, stage.done) == (7.7, ["start flow", "start flow", "start flow", "stop flow"])


def test_what_ends_a_run_that_has_no_end_is_a_signal() -> None:
    stage = Recorder(without_sessions(), interrupted_at=9.2)
    assert Play(without_sessions(), stage, SAMPLE_S).run(math.inf) == "done"


def test_an_interrupted_run_ends_where_the_network_was() -> None:
    stage = Recorder(small_scenario(), interrupted_at=3.2)
    assert Play(small_scenario(), stage, SAMPLE_S).run(30.0) == "interrupted"
    assert stage.agenda.now == 3.2
    assert stage.done[-1] == "kill s2"


def test_what_a_stage_asks_for_is_done_and_noted_as_a_fault_is() -> None:
    stage = Recorder(without_sessions(), dies_at=2.0)
    Play(without_sessions(), stage, SAMPLE_S).run(5.0)
    assert stage.noted == [(2.1, "start switch s1")]


def test_an_idle_stage_is_played_on_but_not_measured() -> None:
    stage = Recorder(small_scenario(), 5.2, 5.2, interrupted_at=9.4)
    play = Play(small_scenario(), stage, SAMPLE_S)
    assert play.run(30.0) == "done"
    play.idle()
    assert stage.samples[-1] == 5.5
    assert stage.done[-1] == "leave c"
