"""What a scenario is played on, emulated or simulated: one interface, with a method for each kind of step."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from topologies.agenda import Agenda
from topologies.scenario import activity
from topologies.scenario.quantity import format_rate

RECEIVERS_WAIT_S = 60.0
"""How long a sender waits for receivers that should have joined: their processes may start slowly on a busy machine."""


class RunningSession(Protocol):
    """A session's sender and receivers on a stage."""

    def start_sender(self) -> None:
        """The sender begins to announce itself."""

    def join_receiver(self, host: str) -> None:
        """A receiver begins to listen."""

    def leave_receiver(self, host: str) -> None:
        """A receiver leaves, in good order."""

    def kill_receiver(self, host: str) -> None:
        """A receiver dies without a word."""

    def attack(self, fault: activity.Attack) -> None:
        """A stranger sends into the session, from any address or from its own only."""

    @property
    def sender_is_over(self) -> bool:
        """Whether the sender has ended."""

    @property
    def is_over(self) -> bool:
        """Whether the sender has ended, and every receiver that was started has."""


class RunningFlow(Protocol):
    """A flow of cross traffic on a stage."""

    def start(self) -> None:
        """Begin to send."""

    def stop(self) -> None:
        """Send no more."""


class Stage(Protocol):
    """A network that is up, the programs on its hosts, and its time. Sessions and flows are known by their places in
    the scenario. Methods raise what the programs and the network do when something cannot be done."""

    agenda: Agenda
    """What is done when, seconds in the run."""
    sessions: Sequence[RunningSession]
    flows: Sequence[RunningFlow]

    # --- what the scenario says

    def start_sender(self, session: int) -> None:
        """A session begins."""
        self.sessions[session].start_sender()

    def join_receiver(self, session: int, host: str) -> None:
        """A receiver joins its session."""
        self.sessions[session].join_receiver(host)

    def leave_receiver(self, session: int, host: str) -> None:
        """A receiver leaves its session in good order."""
        self.sessions[session].leave_receiver(host)

    def kill_receiver(self, session: int, host: str) -> None:
        """A receiver dies without a word."""
        self.sessions[session].kill_receiver(host)

    def attack(self, session: int, fault: activity.Attack) -> None:
        """A stranger sends into a session."""
        self.sessions[session].attack(fault)

    def start_flow(self, flow: int) -> None:
        """A flow of cross traffic begins."""
        self.flows[flow].start()

    def stop_flow(self, flow: int) -> None:
        """A flow of cross traffic ends."""
        self.flows[flow].stop()

    @abstractmethod
    def set_link(self, one: str, other: str, *, up: bool) -> None:
        """A link loses its carrier, or has it again."""

    @abstractmethod
    def set_link_delay(self, one: str, other: str, delay_s: float) -> None:
        """A link gets another delay, in both directions."""

    @abstractmethod
    def set_link_rate(self, one: str, other: str, rate_bps: float) -> None:
        """A link gets another rate, in both directions."""

    @abstractmethod
    def kill_switch(self, name: str) -> None:
        """A switch's process is gone, and all its state."""

    @abstractmethod
    def start_switch(self, name: str) -> None:
        """A switch's process is there again, empty."""

    @abstractmethod
    def kill_controller(self) -> None:
        """The controller is gone."""

    @abstractmethod
    def start_controller(self) -> None:
        """A new controller takes over."""

    # --- time, and what is seen

    @property
    @abstractmethod
    def now(self) -> float:
        """How far the network is, seconds in the run."""

    @abstractmethod
    def pass_time(self, until: float) -> float:
        """Let time pass, up to `until` or, where it cannot be stopped, a little further; how far it came."""

    @abstractmethod
    def look_after(self) -> Iterable[tuple[float, "Step"]]:
        """See to what goes on between the steps; what is to be done because of it, though no scenario says so, when."""

    @abstractmethod
    def measure(self) -> None:
        """Take a sample of everything."""

    @abstractmethod
    def note_member(self, kind: str, session: int, host: str) -> None:
        """Put what a receiver was told to do into the run's series. `session` is its id."""

    @abstractmethod
    def note_fault(self, kind: str, subject: str) -> None:
        """Put a fault into the run's events, and show it."""


class Step(ABC):
    """One thing to do."""

    fault: ClassVar[str] = ""
    """What a fault is called in the run's events; empty: it is none."""

    @property
    def label(self) -> str:
        """What a fault happens to, for a person."""
        return ""

    @abstractmethod
    def do(self, stage: Stage) -> None:
        """Do it."""


@dataclass(frozen=True)
class StartSender(Step):
    """A session begins."""

    session: int

    def do(self, stage: Stage) -> None:
        stage.start_sender(self.session)


@dataclass(frozen=True)
class ReceiverStep(Step):
    """One thing that a receiver does."""

    member: ClassVar[str]
    """What it is called in the run's members.jsonl."""
    session: int
    host: str

    @property
    def label(self) -> str:
        return self.host


class JoinReceiver(ReceiverStep):
    """A receiver joins its session."""

    member = "join"

    def do(self, stage: Stage) -> None:
        stage.join_receiver(self.session, self.host)


class LeaveReceiver(ReceiverStep):
    """A receiver leaves its session in good order."""

    member = "leave"

    def do(self, stage: Stage) -> None:
        stage.leave_receiver(self.session, self.host)


class KillReceiver(ReceiverStep):
    """A receiver dies without a word."""

    fault = "kill receiver"
    member = "die"

    def do(self, stage: Stage) -> None:
        stage.kill_receiver(self.session, self.host)


@dataclass(frozen=True)
class Attack(Step):
    """A stranger attacks a session."""

    fault = "attack"
    session: int
    how: activity.Attack

    @property
    def label(self) -> str:
        return self.how.forgery

    def do(self, stage: Stage) -> None:
        stage.attack(self.session, self.how)


@dataclass(frozen=True)
class StartFlow(Step):
    """A flow of cross traffic begins."""

    flow: int

    def do(self, stage: Stage) -> None:
        stage.start_flow(self.flow)


@dataclass(frozen=True)
class StopFlow(Step):
    """A flow of cross traffic ends."""

    flow: int

    def do(self, stage: Stage) -> None:
        stage.stop_flow(self.flow)


@dataclass(frozen=True)
class _LinkStep(Step):
    one: str
    other: str

    @property
    def label(self) -> str:
        return f"{self.one} - {self.other}"


class LinkDown(_LinkStep):
    """A link loses its carrier."""

    fault = "link down"

    def do(self, stage: Stage) -> None:
        stage.set_link(self.one, self.other, up=False)


class LinkUp(_LinkStep):
    """A link has its carrier again."""

    fault = "link up"

    def do(self, stage: Stage) -> None:
        stage.set_link(self.one, self.other, up=True)


@dataclass(frozen=True)
class LinkDelay(_LinkStep):
    """A link gets another delay, in both directions."""

    fault = "link delay"
    delay_s: float

    @property
    def label(self) -> str:
        return f"{super().label}: {self.delay_s * 1e3:g} ms"

    def do(self, stage: Stage) -> None:
        stage.set_link_delay(self.one, self.other, self.delay_s)


@dataclass(frozen=True)
class LinkRate(_LinkStep):
    """A link gets another rate, in both directions."""

    fault = "link rate"
    rate_bps: float

    @property
    def label(self) -> str:
        return f"{super().label}: {format_rate(self.rate_bps)}"

    def do(self, stage: Stage) -> None:
        stage.set_link_rate(self.one, self.other, self.rate_bps)


@dataclass(frozen=True)
class _SwitchStep(Step):
    switch: str

    @property
    def label(self) -> str:
        return self.switch


class KillSwitch(_SwitchStep):
    """A switch's process is gone, and all its state."""

    fault = "kill switch"

    def do(self, stage: Stage) -> None:
        stage.kill_switch(self.switch)


class StartSwitch(_SwitchStep):
    """A switch's process is there again, empty."""

    fault = "start switch"

    def do(self, stage: Stage) -> None:
        stage.start_switch(self.switch)


@dataclass(frozen=True)
class KillController(Step):
    """The controller is gone."""

    fault = "kill controller"

    def do(self, stage: Stage) -> None:
        stage.kill_controller()


@dataclass(frozen=True)
class StartController(Step):
    """A new controller takes over."""

    fault = "start controller"

    def do(self, stage: Stage) -> None:
        stage.start_controller()
