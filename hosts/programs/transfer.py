"""Files from a sender to its receivers: what `canopy send` and `canopy recv` do."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hosts.application import stream_bytes
from hosts.endpoint import (
    Event,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerMisquoted,
    PeerRefused,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.programs.broadcast import FileLibrary
from hosts.programs.driver import COMPLAINT_INTERVAL_S, INTERRUPTED, OF_THE_FOLDER, Driver, Narrator, Outcome, Plan
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.programs.naming import Existing
from hosts.programs.progress import Display
from hosts.programs.shelf import content_of_file
from hosts.programs.stuck import Stuck
from hosts.runtime import sockets
from hosts.wire.contents import Contents

PROGRESS_INTERVAL_S = 0.2


async def send_files(
    plan: Plan, source: FileSource, interface: sockets.Interface, display: Display, *, status_folder: Path | None = None
) -> Outcome:
    """Send what the source has. Raises SocketError and OSError for what is wrong from the start."""
    contents = source.contents
    single = contents.single
    narrator = _SenderNarrator(display)
    endpoint = plan.sender()
    if plan.protocol.takes_files:
        path, name = source.paths[0], contents.label
        library = FileLibrary([content_of_file(path, name, coded=plan.parses("gzip"))])
        streams: dict[str, Any] = {"source": library}
    else:
        endpoint.offer(contents.encode(), contents.size)
        streams = {"content": source}
    driver = Driver(plan, endpoint, interface, narrator, "sender", **streams)
    observer, runtime = driver.observer, driver.runtime
    knows_receivers = plan.protocol.knows_receivers
    column = "acked_bytes" if knows_receivers else "sent_bytes"
    driver.keep_status(status_folder, stream_bytes(source.total_bytes, endpoint.checked_bytes))
    if driver.status is not None:
        driver.status.write(driver.row())

    def progress(now: float) -> None:
        _name(display, contents, source.current)
        _show(display, lambda: observer.row(now), column)

    runtime.every(PROGRESS_INTERVAL_S, progress)
    if knows_receivers:
        stuck = Stuck()
        runtime.every(COMPLAINT_INTERVAL_S, lambda now: display.complain(stuck.look(observer.row(now), now)))
    waits = f"; waiting for {plan.session.receivers} receiver(s)" if knows_receivers else ""
    display.say(
        f"{contents.label}: {contents.size} bytes to {plan.session.group} with {plan.protocol.name} "
        f"from {sockets.describe(interface.address)}, session {driver.session}{waits}"
    )

    def begin() -> None:
        display.begin(contents.label, stream_bytes(source.total_bytes, endpoint.checked_bytes))
        if driver.status is not None:
            driver.status.begin()

    def conclude(end: SessionEnded) -> None:
        short = _missing_receivers(driver)
        observer.detail = end.reason or short
        observer.final = "done" if end.complete and not short else "aborted" if end.reason == INTERRUPTED else "failed"

    narrator.on_start, narrator.on_end = begin, conclude
    end = await driver.run()
    row = driver.row()
    done, duration = observer.final == "done", narrator.duration
    goodput = source.carried * 8 / duration if duration and done else None
    outcome = driver.outcome(
        end,
        done,
        observer.detail,
        **({"file": single.path} if single else {"files": len(contents.files)}),
        size_bytes=contents.size,
        **({"sha256": single.sha256} if single else {}),
        skipped_bytes=contents.size - source.carried,
        duration_s=duration,
        goodput_bps=goodput,
        cpu_s=narrator.cpu_s,
        data_packets=row.get("data_packets"),
        repair_packets=row.get("repair_packets"),
        feedback_packets=row.get("feedback_packets"),
        refused=narrator.refused,
        congestion_signals=narrator.signals,
        receivers=row.get("receivers"),
    )
    summary = outcome.summary
    if not done:
        display.fail(observer.detail)
        return driver.blamed(outcome)
    if knows_receivers:
        whole = sum(row["state"] == "complete" for row in summary["receivers"].values())
        display.say(
            f"{contents.label}: {'the receiver has' if whole == 1 else f'all {whole} receivers have'} it; "
            f"{(goodput or 0) / 1e6:.2f} Mbps, {summary['repair_packets']} repairs, "
            f"{summary['feedback_packets']} feedback packets"
        )
    else:
        display.say(f"{contents.label}: sent for {duration or 0.0:.0f} s, {summary['data_packets']} packets")
    return outcome


def _missing_receivers(driver: Driver) -> str:
    wanted = driver.plan.session.receivers
    rows = driver.runtime.endpoint.sample(now=asyncio.get_running_loop().time()).get("receivers")
    joined = len(rows) if isinstance(rows, Mapping) else wanted
    return "" if joined >= wanted else f"only {joined} of {wanted} receivers joined"


def receiver_driver(plan: Plan, interface: sockets.Interface, narrator: Narrator, sink: FileSink) -> Driver:
    """Drives a receiver of files, which looks in the sink's folder for what is offered. Raises SocketError."""
    return Driver(
        plan,
        plan.receiver(),
        interface,
        narrator,
        "receiver",
        sink=sink,
        prepare=lambda content: sink.prepare(Contents.decode(content)),
        read_rate_bps=plan.read_rate_bps,
    )


async def receive_files(
    plan: Plan,
    folder: Path,
    interface: sockets.Interface,
    display: Display,
    *,
    existing: Existing = "refuse",
    wait: float | None = None,
    resume: bool = False,
) -> Outcome:
    """Receive a session. Raises FileError, SocketError and OSError for what is wrong from the start."""
    with FileSink(folder, existing, resume=resume, keep=True) as sink:
        narrator = ReceiverNarrator(display, sink)
        driver = receiver_driver(plan, interface, narrator, sink)
        observer, runtime = driver.observer, driver.runtime

        def progress(now: float) -> None:
            if sink.contents is not None and display.is_watched:
                if not display.shows_progress:
                    display.begin(sink.contents.label, sink.contents.size)
                _name(display, sink.contents, sink.current)
                _show(display, lambda: {**observer.row(now), "file_bytes": sink.written}, "file_bytes")

        runtime.every(PROGRESS_INTERVAL_S, progress)
        driver.listen(wait)
        end = await driver.run()
        reason = str(runtime.error) if runtime.error is not None else end.reason
        complete = sink.path is not None  # whole, checked and named: whatever the sender made of it
        goodput = narrator.goodput_bps(sink.received) if complete else None
        outcome = driver.outcome(
            end,
            complete,
            "" if complete else reason,
            **sink.describe(),
            duration_s=narrator.duration,
            goodput_bps=goodput,
        )
        if complete:
            assert sink.contents is not None
            what = "" if sink.contents.single else f"{sink.contents.label}, "
            before = f", {sink.had} of them were here" if sink.had else ""
            display.say(f"{sink.path}: {what}{sink.written} bytes{before}{rate_words(goodput)}")
            return outcome
        display.fail(reason)
    if sink.kept:
        display.say(f"{sink.kept} bytes of {sink.current[0]} are kept: --resume goes on from there")
    return driver.blamed(outcome, *OF_THE_FOLDER)


def rate_words(goodput_bps: float | None) -> str:
    """At the end of a line: nothing, where all came at once or was there."""
    return "" if goodput_bps is None else f", {goodput_bps / 1e6:.2f} Mbps"


class ReceiverNarrator(Narrator):
    """Has a sink stop when the session is over; not one that has all, and is writing the last of it: a slow disk takes
    longer with many files than the sender waits."""

    def __init__(self, display: Display, sink: FileSink) -> None:
        super().__init__(display)
        self._sink = sink
        self._has_all = False

    def peer(self, event: Event) -> None:
        self._has_all = self._has_all or isinstance(event, StreamEnded)

    def ended(self, event: SessionEnded) -> None:
        if not self._has_all or event.reason == INTERRUPTED:
            self._sink.stop()


class _SenderNarrator(Narrator):
    """Says who joins and who has the file."""

    def __init__(self, display: Display) -> None:
        super().__init__(display)
        self.on_start: Callable[[], None]
        self.on_end: Callable[[SessionEnded], None]
        self.refused: list[str] = []

    def started(self, event: SessionStarted) -> None:
        self.on_start()

    def ended(self, event: SessionEnded) -> None:
        self.on_end(event)

    def peer(self, event: Event) -> None:
        if isinstance(event, PeerJoined):
            self.display.say(f"{event.peer} joined")
        elif isinstance(event, PeerRefused):
            self.refused.append(str(event.peer))
            self.display.say(f"{event.peer} refused: {event.reason}")
        elif isinstance(event, PeerDropped):
            self._last_change(f"{event.peer} dropped: {event.reason}")
        elif isinstance(event, PeerMisquoted):
            self.display.say(f"a switch has said of {event.peer} what it did not, or kept it quiet: none is believed")
        elif isinstance(event, PeerFinished):
            self._last_change(f"{event.peer} {'has the whole file' if event.complete else f'failed: {event.reason}'}")

    def _last_change(self, words: str) -> None:
        self.mark_end()
        self.display.say(words)


def _name(display: Display, contents: Contents, current: tuple[str, int]) -> None:
    """Say at the bar which of several files it is."""
    if contents.single is None and display.shows_progress:
        display.name(f"{current[1]} of {contents.label}: {current[0]}")


def _show(display: Display, read: Callable[[], Mapping[str, Any]], column: str) -> None:
    if not display.shows_progress:
        return  # a row of many receivers takes its time
    row = read()
    done = row.get(column)
    if isinstance(done, int):
        display.update(done, row)
