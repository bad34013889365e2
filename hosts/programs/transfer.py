"""One transfer from its plan to its outcome: the endpoint, its runtime, the file, and who watches."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_INTERRUPTED
from hosts.endpoint import (
    Endpoint,
    Event,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    SessionEnded,
    SessionStarted,
)
from hosts.programs.files import Existing, FileSink, FileSource
from hosts.programs.observe import STATUS_INTERVAL_S, TRACE_INTERVAL_S, Observer, StatusFile, TraceFile, plain
from hosts.programs.progress import Display
from hosts.protocol import Protocol, Session
from hosts.runtime import sockets
from hosts.runtime.runtime import Runtime
from hosts.wire.reason import Reason

PROGRESS_INTERVAL_S = 0.2
INTERRUPTED = "interrupted"


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    exit_status: int
    summary: dict[str, Any]


class Watch:
    """Samples an endpoint for its trace, status file and progress bar."""

    def __init__(self, plan: Plan, runtime: Runtime, display: Display, role: str) -> None:
        loop = asyncio.get_running_loop()
        self.observer = Observer(runtime.endpoint, loop.time())
        self._display = display
        self._runtime = runtime
        self._trace: TraceFile | None = None
        if plan.trace is not None:
            header = {
                "role": role,
                "protocol": plan.protocol.name,
                "group": plan.session.group.host,
                "port": plan.session.group.port,
                "address": runtime.address.host,
                "session": runtime.endpoint.session_id,
            }
            self._trace = TraceFile(plan.trace, header)
            runtime.every(TRACE_INTERVAL_S, self._write_trace)

    def _write_trace(self, now: float) -> None:
        if self._trace is not None:
            self._trace.write(self.observer.row(now))

    def close(self) -> None:
        if self._trace is not None:
            self._trace.close()
        self._display.end()


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


async def send_file(
    plan: Plan,
    source: FileSource,
    interface: sockets.Interface,
    display: Display,
    *,
    status_folder: Path | None = None,
) -> Outcome:
    """Send a file. Raises SocketError and OSError for what is wrong from the start."""
    manifest = source.manifest
    endpoint = plan.protocol.sender(plan.session, plan.rng, plan.parameters)
    narrator = _Narrator(display)
    runtime = Runtime(
        endpoint,
        interface,
        source=source,
        on_event=narrator.event,
        on_warning=display.say,
        port=plan.local_port,
    )
    watch = Watch(plan, runtime, display, "sender")
    observer = watch.observer
    number = endpoint.session_id or 0
    status: StatusFile | None = None
    if status_folder is not None:
        status = StatusFile(
            status_folder, plan.protocol.name, plan.session, number, runtime.address.host, source.total_bytes
        )
        writer = status
        writer.write(observer.row(asyncio.get_running_loop().time()))
        runtime.every(STATUS_INTERVAL_S, lambda now: writer.write(observer.row(now)))
    runtime.every(PROGRESS_INTERVAL_S, lambda now: _show(display, lambda: observer.row(now), "acked_bytes"))
    display.say(
        f"{manifest.name}: {manifest.size} bytes to {plan.session.group} with {plan.protocol.name}, "
        f"session {number}"
        + (f"; waiting for {plan.session.receivers} receiver(s)" if plan.protocol.knows_receivers else "")
    )

    def begin() -> None:
        display.begin(manifest.name, source.total_bytes)
        if status is not None:
            status.begin()

    narrator.on_start = begin

    def conclude(end: SessionEnded) -> None:
        short = _missing_receivers(plan, endpoint)
        observer.detail = end.reason or short
        observer.final = "done" if end.complete and not short else "aborted" if end.reason == INTERRUPTED else "failed"

    narrator.on_end = conclude
    async with watch_signals(runtime):
        try:
            end = await runtime.run()
        finally:
            watch.close()
    row = observer.row(asyncio.get_running_loop().time())
    summary = _sender_summary(plan, number, source, narrator, observer, row)
    if observer.final == "done" and not plan.protocol.knows_receivers:
        display.say(f"{manifest.name}: sent for {narrator.duration or 0.0:.0f} s, {summary['data_packets']} packets")
        return Outcome(0, summary)
    if observer.final == "done":
        display.say(
            f"{manifest.name}: all {len(summary['receivers'])} receivers have it; "
            f"{(summary['goodput_bps'] or 0) / 1e6:.2f} Mbit/s, {summary['repair_packets']} repairs, "
            f"{summary['feedback_packets']} feedback packets"
        )
        return Outcome(0, summary)
    display.fail(observer.detail)
    if runtime.error is not None:
        return Outcome(EXIT_BAD_INPUT, summary)
    return Outcome(EXIT_INTERRUPTED if end.reason == INTERRUPTED else EXIT_FAILED, summary)


def _missing_receivers(plan: Plan, endpoint: Endpoint) -> str:
    rows = endpoint.sample(now=asyncio.get_running_loop().time()).get("receivers")
    joined = len(rows) if isinstance(rows, Mapping) else plan.session.receivers
    if joined >= plan.session.receivers:
        return ""
    return f"only {joined} of {plan.session.receivers} receivers joined"


def _sender_summary(
    plan: Plan, number: int, source: FileSource, narrator: "_Narrator", observer: Observer, row: Mapping[str, Any]
) -> dict[str, Any]:
    duration = narrator.duration
    goodput = source.manifest.size * 8 / duration if duration and observer.final == "done" else None
    summary: dict[str, Any] = plain(
        {
            "role": "sender",
            "protocol": plan.protocol.name,
            "session": number,
            "complete": observer.final == "done",
            "detail": observer.detail,
            "file": source.manifest.name,
            "size_bytes": source.manifest.size,
            "sha256": source.manifest.sha256,
            "duration_s": duration,
            "goodput_bps": goodput,
            "cpu_s": narrator.cpu_s,
            "data_packets": row.get("data_packets"),
            "repair_packets": row.get("repair_packets"),
            "feedback_packets": row.get("feedback_packets"),
            "refused": narrator.refused,
            "congestion_signals": narrator.signals,
            "receivers": row.get("receivers"),
            "counters": dict(sorted(observer.endpoint.counters.items())),
        }
    )
    return summary


async def receive_file(
    plan: Plan,
    folder: Path,
    interface: sockets.Interface,
    display: Display,
    *,
    existing: Existing = "refuse",
    wait: float | None = None,
) -> Outcome:
    """Receive a file. Raises FileError, SocketError and OSError for what is wrong from the start."""
    with FileSink(folder, existing) as sink:
        endpoint = plan.protocol.receiver(plan.session, plan.rng, plan.parameters)
        narrator = _Narrator(display)
        runtime = Runtime(
            endpoint,
            interface,
            sink=sink,
            read_rate_bps=plan.read_rate_bps,
            on_event=narrator.event,
            on_warning=display.say,
            port=plan.local_port,
        )
        watch = Watch(plan, runtime, display, "receiver")
        observer = watch.observer

        def progress(now: float) -> None:
            if sink.manifest is not None:
                display.begin(sink.manifest.name, sink.manifest.size)
                _show(display, lambda: {**observer.row(now), "file_bytes": sink.written}, "file_bytes")

        def give_up() -> None:
            if not narrator.started:
                runtime.stop(f"no sender was heard within {wait:g} s")

        runtime.every(PROGRESS_INTERVAL_S, progress)
        if wait is not None:
            asyncio.get_running_loop().call_later(wait, give_up)
        display.say(
            f"listening on {plan.session.group}" + (f" from {plan.session.source}" if plan.session.source else "")
        )
        async with watch_signals(runtime):
            try:
                end = await runtime.run()
            finally:
                watch.close()
        reason = str(runtime.error) if runtime.error is not None else end.reason
        summary = _receiver_summary(plan, endpoint, sink, narrator, reason)
        if summary["complete"]:
            display.say(f"{sink.path}: {sink.written} bytes, {(summary['goodput_bps'] or 0) / 1e6:.2f} Mbit/s")
            return Outcome(0, summary)
        display.fail(reason)
        if runtime.error is not None and runtime.error.reason in (Reason.CANNOT_WRITE, Reason.REFUSED_FILE):
            return Outcome(EXIT_BAD_INPUT, summary)
        return Outcome(EXIT_INTERRUPTED if end.reason == INTERRUPTED else EXIT_FAILED, summary)


def _receiver_summary(
    plan: Plan, endpoint: Endpoint, sink: FileSink, narrator: "_Narrator", reason: str
) -> dict[str, Any]:
    complete = sink.path is not None  # whole, checked and named: whatever the sender made of it
    duration = None
    # Not from the join: a session may wait for others. A carousel waits for nobody, and its file comes at the end.
    begun_at = sink.opened_at if plan.protocol.knows_receivers else narrator.started_at
    if begun_at is not None and narrator.ended_at is not None:
        duration = narrator.ended_at - begun_at
    summary: dict[str, Any] = plain(
        {
            "role": "receiver",
            "protocol": plan.protocol.name,
            "session": endpoint.session_id,
            "complete": complete,
            "detail": "" if complete else reason,
            **sink.describe(),
            "duration_s": duration,
            "goodput_bps": sink.written * 8 / duration if duration and complete else None,
            "counters": dict(sorted(endpoint.counters.items())),
        }
    )
    return summary


class _Narrator:
    """Says what happens, and keeps the times of start and end."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self._cpu_before = 0.0
        self._cpu_after = 0.0
        self.on_start = _nothing
        self.on_end = _ignore
        self.refused: list[str] = []
        self.signals: dict[str, int] = {}

    @property
    def started(self) -> bool:
        return self.started_at is not None

    @property
    def duration(self) -> float | None:
        """From the start to the last receiver's confirmation, seconds."""
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at

    @property
    def cpu_s(self) -> float | None:
        """What this program took of a processor from the start to the end, user and system time, seconds."""
        return None if self.duration is None else self._cpu_after - self._cpu_before

    def event(self, event: Event) -> None:
        """Take one event of the endpoint."""
        if isinstance(event, SessionStarted):
            self.started_at = time.monotonic()
            self._cpu_before = time.process_time()
            self.on_start()
        elif isinstance(event, PeerJoined):
            self._display.say(f"{event.peer} joined")
        elif isinstance(event, PeerRefused):
            self.refused.append(str(event.peer))
            self._display.say(f"{event.peer} refused: {event.reason}")
        elif isinstance(event, PeerDropped):
            self.ended_at = time.monotonic()
            self._display.say(f"{event.peer} dropped: {event.reason}")
        elif isinstance(event, PeerFinished):
            self.ended_at = time.monotonic()
            self._display.say(f"{event.peer} {'has the whole file' if event.complete else f'failed: {event.reason}'}")
        elif isinstance(event, SessionEnded):
            self._cpu_after = time.process_time()
            if self.ended_at is None:
                self.ended_at = time.monotonic()
            self.on_end(event)
        elif hasattr(event, "kind"):
            self.signals[event.kind] = self.signals.get(event.kind, 0) + 1


def _nothing() -> None:
    """Until there is something to do."""


def _ignore(end: SessionEnded) -> None:
    """Likewise."""


def _show(display: Display, read: Callable[[], Mapping[str, Any]], column: str) -> None:
    if not display.shows_progress:
        return  # a row of many receivers takes its time
    row = read()
    done = row.get(column)
    if isinstance(done, int):
        display.update(done, row)
