"""What programs share that send or receive, files or streams: one endpoint on its sockets, from the plan to the end."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_INTERRUPTED
from hosts.endpoint import Endpoint, Event, SenderEndpoint, SessionEnded, SessionStarted
from hosts.programs.course import Course
from hosts.programs.observe import COMPLETE, STATUS_INTERVAL_S, TRACE_INTERVAL_S, Observer, StatusFile, TraceFile, plain
from hosts.programs.progress import Display
from hosts.protocol import Protocol, Session
from hosts.runtime import sockets
from hosts.runtime.runtime import Runtime
from hosts.security.complaint import complaint, others
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

INTERRUPTED: Final = "interrupted"
"""Reason of a session's end after a signal."""
OF_THE_FOLDER: Final = (Reason.CANNOT_WRITE, Reason.NO_ROOM, Reason.REFUSED_FILE)
"""What a receiver's user can mend: a folder that cannot be written, or is full, a name that is taken."""
HINT_AFTER_S: Final = 10.0
"""A receiver that has heard nothing for so long says what may be wrong: announcements come several times a second."""
COMPLAINT_INTERVAL_S: Final = 1.0
"""Whether settings differ shows in what has arrived; looked at so often (ours)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line asked for."""

    protocol: Protocol[Any]
    session: Session
    parameters: Mapping[str, Any]
    rng: Random
    trace: Path | None
    local_port: int = 0
    """UDP port of the endpoint's own address; 0: any."""
    read_rate_bps: float | None = None
    """How fast a receiver's application reads; None: at once."""
    said: str = ""
    """One line for a person, when the session begins."""

    def parses(self, name: str) -> Any:
        """A parameter's value. ValueError: a bad parameter."""
        return getattr(self.protocol.parse_options(self.parameters), name)

    def check_file(self, path: Path) -> None:
        """FileError when the protocol cannot carry so much; to be asked before the file is read, which takes time. What
        is no file is for the reader to refuse."""
        try:
            if path.is_file():
                self.protocol.check_file(path.stat().st_size, self.parameters)
        except ValueError as error:
            raise FileError(f"{path} cannot be sent: {error}") from None

    def sender(self) -> SenderEndpoint:
        """A sender of this session. ValueError: a bad parameter."""
        return self.protocol.sender(self.session, self.rng, self.parameters)

    def receiver(self) -> Endpoint:
        """Likewise a receiver."""
        return self.protocol.receiver(self.session, self.rng, self.parameters)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    exit_status: int
    summary: dict[str, Any]


class Narrator(Course):
    """Keeps the times of start and end of a session, and its congestion signals; subclasses say what else happens."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self.display = display
        self.signals: dict[str, int] = {}
        """Congestion signals by kind."""
        self._cpu_before = 0.0
        self._cpu_after = 0.0

    @property
    def cpu_s(self) -> float | None:
        """What this program took of a processor from the start to the end, user and system time, seconds."""
        return None if self.duration is None else self._cpu_after - self._cpu_before

    def event(self, event: Event) -> None:
        """Take one event of the endpoint."""
        self.note(event, time.monotonic())
        if isinstance(event, SessionStarted):
            self._cpu_before = time.process_time()
            self.started(event)
        elif isinstance(event, SessionEnded):
            self._cpu_after = time.process_time()
            self.ended(event)
        elif hasattr(event, "kind"):
            self.signals[event.kind] = self.signals.get(event.kind, 0) + 1
        else:
            self.peer(event)

    def mark_end(self) -> None:
        """What counts for the duration has happened now, as far as is known."""
        self.ended_at = time.monotonic()

    def started(self, event: SessionStarted) -> None:
        """Data flow from now on."""

    def peer(self, event: Event) -> None:
        """A receiver joined, was refused, was dropped or has finished."""

    def ended(self, event: SessionEnded) -> None:
        """The session is over."""


class Driver:
    """Runs an endpoint of a plan: runtime, trace, status file, signals."""

    def __init__(
        self,
        plan: Plan,
        endpoint: Endpoint,
        interface: sockets.Interface,
        narrator: Narrator,
        role: str,
        **streams: Any,
    ) -> None:
        """`role`: `sender` or `receiver`; `streams`: the Runtime's source, content, sink, prepare or take. Raises
        SocketError."""
        self.plan = plan
        self.role = role
        self.narrator = narrator
        self.display = narrator.display
        self.runtime = Runtime(
            endpoint, interface, on_event=self._event, on_warning=self.display.say, port=plan.local_port, **streams
        )
        self.runtime.every(COMPLAINT_INTERVAL_S, self._complain)
        self._complaint: str | None = None
        self._others: str | None = None
        self.display.detail(self.runtime.kernel)
        self._loop = asyncio.get_running_loop()
        self.observer = Observer(endpoint, self._loop.time())
        self.status: StatusFile | None = None
        self._trace: TraceFile | None = None
        if plan.trace is not None:
            self._trace = self._open_trace(plan.trace)

    def _event(self, event: Event) -> None:
        if self.role == "receiver" and isinstance(event, SessionEnded) and event.complete:
            self.observer.final = COMPLETE
        self.narrator.event(event)

    @property
    def session(self) -> int | None:
        """The session's number; None at a receiver that has heard none."""
        return self.runtime.endpoint.session_id

    def row(self) -> dict[str, Any]:
        """What the endpoint says of itself now (docs/status.md)."""
        return self.observer.row(self._loop.time())

    def _open_trace(self, path: Path) -> TraceFile:
        plan, group = self.plan, self.plan.session.group
        header = {
            "role": self.role,
            "protocol": plan.protocol.name,
            "group": group.host,
            "port": group.port,
            "address": self.runtime.address.host,
            "session": self.session,
        }
        trace = TraceFile(path, header)
        self.runtime.every(TRACE_INTERVAL_S, lambda now: trace.write(self.observer.row(now)))
        return trace

    def keep_status(self, folder: Path | None, total_bytes: int | None) -> None:
        """Keep a status file in this folder, if there is one."""
        if folder is None:
            return
        plan = self.plan
        status = StatusFile(
            folder, plan.protocol.name, plan.session, self.session or 0, self.runtime.address.host, total_bytes
        )
        self.status = status
        self.runtime.every(STATUS_INTERVAL_S, lambda now: status.write(self.observer.row(now)))

    def listen(self, wait: float | None) -> None:
        """Say what a receiver waits for, and give up when no sender was heard for `wait` seconds."""
        session = self.plan.session
        source = f" from {session.source}" if session.source else ""
        self.display.say(f"listening on {session.group}{source} at {sockets.describe(self.runtime.address.host)}")
        self._loop.call_later(HINT_AFTER_S, self._hint)
        if wait is not None:
            self._loop.call_later(wait, self._give_up, wait)

    def _complain(self, now: float) -> None:
        """Say once what keeps the endpoint from taking part, as long as it does not, and who else is in the group."""
        counters = self.runtime.endpoint.counters
        if self.narrator.started_at is None and (found := complaint(counters)) != self._complaint:
            self._complaint = found
            if found is not None:
                self.display.fail(found)
        if self.role == "receiver" and (found := others(counters, self.session)) != self._others:
            self._others = found
            if found is not None:
                self.display.say(found)

    def _hint(self) -> None:
        if self.narrator.started_at is None:
            again = "" if self.plan.protocol.knows_receivers else ", and are its parameters the sender's"
            self.display.say(
                f"nothing heard for {HINT_AFTER_S:g} s: does the sender run with the same --group, --port and "
                f"--protocol, is {sockets.describe(self.runtime.address.host)} the right --interface{again}?"
            )

    def _give_up(self, wait: float) -> None:
        if self.narrator.started_at is None:
            self.runtime.stop(f"no sender was heard within {wait:g} s")

    async def run(self, close: Callable[[], None] | None = None) -> SessionEnded:
        """Until the session ends; `close` is called whatever happens."""
        if self.plan.said:
            self.display.say(self.plan.said)
        async with watch_signals(self.runtime):
            try:
                return await self.runtime.run()
            finally:
                if close is not None:
                    close()
                if self._trace is not None:
                    self._trace.close()
                self.display.end()

    def outcome(self, end: SessionEnded, complete: bool, detail: str, **rest: Any) -> Outcome:
        """Exit status and summary: what all programs say, with `rest` in front of the counters."""
        summary: dict[str, Any] = plain(
            {
                "role": self.role,
                "protocol": self.plan.protocol.name,
                "session": self.session,
                "complete": complete,
                "detail": detail,
                **rest,
                "counters": dict(sorted({**self.runtime.counters, **self.runtime.endpoint.counters}.items())),
            }
        )
        if complete:
            return Outcome(0, summary)
        return Outcome(EXIT_INTERRUPTED if end.reason == INTERRUPTED else EXIT_FAILED, summary)

    def blamed(self, outcome: Outcome, *reasons: Reason, refusal: FileError | None = None) -> Outcome:
        """The same, but bad input where a file here has failed, for one of these reasons or, without any, at all.
        `refusal`: of a folder that the endpoint has asked for room."""
        error = self.runtime.error or refusal
        if error is None or (reasons and error.reason not in reasons):
            return outcome
        return Outcome(EXIT_BAD_INPUT, outcome.summary)


@asynccontextmanager
async def watch_signals(runtime: Runtime) -> AsyncIterator[None]:
    """SIGINT, SIGTERM and SIGHUP end the session in good order; on SIGUSR1 a sender waits for no more receivers."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, runtime.stop, INTERRUPTED)
    loop.add_signal_handler(signal.SIGUSR1, runtime.start_now)
    try:
        yield
    finally:
        for number in (*numbers, signal.SIGUSR1):
            loop.remove_signal_handler(number)
