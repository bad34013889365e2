"""Real-time data from one sender to many receivers: an input of any kind, sent as fast as the network allows."""

import asyncio
import contextlib
import io
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from engine.command.exits import EXIT_FAILED, EXIT_INTERRUPTED
from hosts.endpoint import CongestionSignal, DeliverDatagram, Event, SessionEnded, SessionStarted
from hosts.parts.playout import PlayoutBuffer
from hosts.programs.observe import STATUS_INTERVAL_S, StatusFile, plain
from hosts.programs.output import Output, is_file
from hosts.programs.progress import Display
from hosts.programs.transfer import INTERRUPTED, Outcome, Plan, Watch, watch_signals
from hosts.runtime import sockets
from hosts.runtime.runtime import Runtime

QUEUE_BYTES: Final = 256 * 1024
"""Input that waits; more than that, and its program waits too, as at any full pipe (ours)."""
PIECE_BYTES: Final = 64 * 1024
SHOW_INTERVAL_S: Final = 1.0
LEAST_PATIENCE_S: Final = 1.0
"""So long, or for the playout delay if that is longer, what is played may wait for its reader (ours)."""


class InputSource:
    """Reads an input in a thread of its own, for it may be a pipe that has nothing yet. A `Source`."""

    def __init__(self, stream: io.RawIOBase, on_data: Callable[[], None]) -> None:
        """`stream` gives what it has now, as a pipe does; `on_data` is called in the thread when there is something to
        read, or the end."""
        self._stream = stream
        self._on_data = on_data
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._ended = False
        self._room = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="input", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def _work(self) -> None:
        while True:
            with self._room:
                self._room.wait_for(lambda: self._waiting < QUEUE_BYTES or self._ended)
                if self._ended:
                    return
            try:
                piece = self._stream.read(PIECE_BYTES)
            except (OSError, ValueError):
                piece = b""
            with self._room:
                if piece:
                    self._pieces.append(piece)
                    self._waiting += len(piece)
                else:
                    self._ended = True
            self._on_data()
            if not piece:
                return

    def read(self, space: int) -> bytes:
        """Up to `space` bytes of what there is."""
        with self._room:
            if not self._pieces:
                return b""
            piece = self._pieces.popleft()
            if len(piece) > space:
                self._pieces.appendleft(piece[space:])
                piece = piece[:space]
            self._waiting -= len(piece)
            self._room.notify()
            return piece

    @property
    def exhausted(self) -> bool:
        """Whether the input has ended, and everything was read."""
        with self._room:
            return self._ended and not self._pieces

    def close(self) -> None:
        """Read no more."""
        with self._room:
            self._ended = True
            self._pieces.clear()
            self._room.notify()


class _Player:
    """Gives what has arrived to an output when it is to be played."""

    def __init__(self, output: Output, delay: float, guarded: Callable[[Callable[[], None]], None]) -> None:
        """`guarded` calls what is due."""
        self.buffer = PlayoutBuffer(delay)
        self._output = output
        self._guarded = guarded
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, datagram: DeliverDatagram) -> None:
        """What the endpoint delivers."""
        self.buffer.add(datagram)
        self._schedule()

    async def play_rest(self) -> None:
        """The stream has ended: play what is still to be played, in its own time."""
        while self._output.failure is None and (at := self.buffer.next_at) is not None:
            await asyncio.sleep(max(0.0, at - self._loop.time()))
            self._write()

    def account(self) -> PlayoutBuffer:
        """The buffer, with what the reader did not take left out."""
        self.buffer.not_read(*self._output.take_dropped())
        return self.buffer

    def _play(self) -> None:
        self._timer = None
        self._write()
        self._schedule()

    def _write(self) -> None:
        self._output.put(self.buffer.take(self._loop.time()))

    def _schedule(self) -> None:
        at = self.buffer.next_at
        if at is not None and (self._timer is None or at < self._timer.when()):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(at, self._guarded, self._play)


class _Narrator:
    """Notes what happens, and says it."""

    def __init__(self, display: Display) -> None:
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.signals = 0
        self._display = display

    def event(self, event: Event) -> None:
        """An endpoint's event."""
        if isinstance(event, SessionStarted):
            self.started_at = time.monotonic()
            if event.peer is not None:
                self._display.say(f"receiving from {event.peer}")
        elif isinstance(event, SessionEnded):
            self.ended_at = time.monotonic()
        elif isinstance(event, CongestionSignal):
            self.signals += 1

    @property
    def duration(self) -> float | None:
        """Seconds."""
        if self.started_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.started_at


def _exit_status(end: SessionEnded) -> int:
    if end.complete:
        return 0
    return EXIT_INTERRUPTED if end.reason == INTERRUPTED else EXIT_FAILED


async def send_stream(
    plan: Plan,
    stream: io.RawIOBase,
    interface: sockets.Interface,
    display: Display,
    *,
    status_folder: Path | None = None,
) -> Outcome:
    """Send what a stream gives until it ends. Raises SocketError."""
    loop = asyncio.get_running_loop()
    endpoint = plan.protocol.sender(plan.session, plan.rng, plan.parameters)
    narrator = _Narrator(display)

    def tell() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is over: nobody reads any more
            loop.call_soon_threadsafe(runtime.poke)

    source = InputSource(stream, tell)
    runtime = Runtime(
        endpoint, interface, source=source, on_event=narrator.event, on_warning=display.say, port=plan.local_port
    )
    watch = Watch(plan, runtime, display, "sender")
    observer = watch.observer
    number = endpoint.session_id or 0
    if status_folder is not None:
        status = StatusFile(status_folder, plan.protocol.name, plan.session, number, runtime.address.host, None)
        status.begin()
        runtime.every(STATUS_INTERVAL_S, lambda now: status.write(observer.row(now)))
    display.say(f"streaming to {plan.session.group} with {plan.protocol.name}, session {number}")
    source.start()
    async with watch_signals(runtime):
        try:
            end = await runtime.run()
        finally:
            source.close()
            watch.close()
    row = observer.row(loop.time())
    duration = narrator.duration
    summary: dict[str, Any] = plain(
        {
            "role": "sender",
            "protocol": plan.protocol.name,
            "session": number,
            "complete": end.complete,
            "detail": end.reason,
            "sent_bytes": row["sent_bytes"],
            "duration_s": duration,
            "rate_bps": row["sent_bytes"] * 8 / duration if duration else None,
            "data_packets": row.get("data_packets"),
            "feedback_packets": row.get("feedback_packets"),
            "limiting": row.get("limiting"),
            "counters": dict(sorted(endpoint.counters.items())),
        }
    )
    if end.complete:
        display.say(f"{row['sent_bytes']} bytes, {(summary['rate_bps'] or 0) / 1e6:.2f} Mbit/s")
    else:
        display.fail(end.reason)
    return Outcome(_exit_status(end), summary)


async def receive_stream(
    plan: Plan,
    stream: io.FileIO,
    interface: sockets.Interface,
    display: Display,
    *,
    delay: float,
    wait: float | None = None,
) -> Outcome:
    """Play into a stream, `delay` seconds behind the network. Raises SocketError, OSError of the stream."""
    endpoint = plan.protocol.receiver(plan.session, plan.rng, plan.parameters)
    narrator = _Narrator(display)

    def guarded(action: Callable[[], None]) -> None:
        runtime.guarded(action)  # which does not exist yet

    def failed() -> None:  # the sender is told, as of anybody who leaves
        guarded(lambda: runtime.stop("the output takes no more"))

    kept = is_file(stream)  # what is late for a reader is not late for a file
    output = Output(stream, math.inf if kept else max(delay, LEAST_PATIENCE_S), failed)
    player = _Player(output, delay, guarded)

    def give_up() -> None:
        if narrator.started_at is None:
            runtime.stop(f"no sender was heard within {wait:g} s")

    runtime = Runtime(
        endpoint, interface, take=player.take, on_event=narrator.event, on_warning=display.say, port=plan.local_port
    )
    watch = Watch(plan, runtime, display, "receiver")
    if wait is not None:
        asyncio.get_running_loop().call_later(wait, give_up)
    runtime.every(SHOW_INTERVAL_S, lambda now: display.stream(_words(player.account(), narrator)))
    display.say(f"listening on {plan.session.group}" + (f" from {plan.session.source}" if plan.session.source else ""))
    output.start()
    try:
        async with watch_signals(runtime):
            try:
                end = await runtime.run()
            finally:
                watch.close()
        if end.complete:
            await player.play_rest()
        if kept or end.reason != INTERRUPTED:
            await output.finish()
    finally:
        output.give_up()
    if output.failure is not None:
        raise output.failure
    buffer = player.account()
    duration = narrator.duration
    summary: dict[str, Any] = plain(
        {
            "role": "receiver",
            "protocol": plan.protocol.name,
            "session": endpoint.session_id,
            "complete": end.complete,
            "detail": end.reason,
            "played_bytes": buffer.bytes,
            "duration_s": duration,
            "rate_bps": buffer.bytes * 8 / duration if duration else None,
            "jitter_s": buffer.jitter,
            "loss": buffer.loss,
            "lost_packets": buffer.lost,
            "late_packets": buffer.late,
            "unread_packets": buffer.unread,
            "played_packets": buffer.played,
            "delay_s": delay,
            "counters": dict(sorted(endpoint.counters.items())),
        }
    )
    if end.complete:
        display.say(_words(buffer, narrator))
    else:
        display.fail(end.reason)
    return Outcome(_exit_status(end), summary)


def _words(buffer: PlayoutBuffer, narrator: _Narrator) -> str:
    """Rate, jitter and loss for a person."""
    until = narrator.ended_at or time.monotonic()
    elapsed = until - narrator.started_at if narrator.started_at is not None else 0.0
    rate = buffer.bytes * 8 / elapsed / 1e6 if elapsed > 0 else 0.0
    return (
        f"{buffer.bytes} bytes, {rate:.2f} Mbit/s, jitter {buffer.jitter * 1e3:.1f} ms, "
        f"loss {buffer.loss:.2%} ({buffer.late} late, {buffer.unread} not read in time)"
    )
