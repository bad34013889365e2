"""Real-time data from one sender to many receivers: an input of any kind, sent as fast as the network allows."""

import asyncio
import io
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hosts.endpoint import DeliverDatagram, SessionStarted
from hosts.parts.playout import PlayoutBuffer
from hosts.programs.audience import GONE, Audience
from hosts.programs.driver import INTERRUPTED, Driver, Narrator, Outcome, Plan
from hosts.programs.input import InputSource
from hosts.programs.output import Output, is_file
from hosts.programs.pace import Pace
from hosts.programs.progress import Display
from hosts.runtime import sockets

SHOW_INTERVAL_S: Final = 1.0
LEAST_PATIENCE_S: Final = 1.0
"""So long, or for the playout delay if that is longer, what is played may wait for its reader (ours)."""


class _Player:
    """Gives what has arrived to an output when it is to be played."""

    def __init__(self, output: Output, guarded: Callable[[Callable[[], None]], None], pace: Pace) -> None:
        """`guarded` calls what is due."""
        self.buffer = PlayoutBuffer(pace.delay)
        self._pace = pace
        self._output = output
        self._guarded = guarded
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def take(self, datagram: DeliverDatagram) -> None:
        """What the endpoint delivers."""
        self.buffer.delay = self._pace.now()
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


class _ReceiverNarrator(Narrator):
    """Says whose stream it is."""

    def started(self, event: SessionStarted) -> None:
        if event.peer is not None:
            self.display.say(f"receiving from {event.peer}")


async def send_stream(
    plan: Plan,
    stream: io.RawIOBase,
    interface: sockets.Interface,
    display: Display,
    *,
    status_folder: Path | None = None,
) -> Outcome:
    """Send what a stream gives until it ends. Raises SocketError."""

    def tell() -> None:  # there is no runtime yet
        driver.runtime.poke_from_thread()

    source = InputSource(stream, tell)
    driver = Driver(plan, plan.sender(), interface, Narrator(display), "sender", source=source)
    driver.keep_status(status_folder, None)
    if driver.status is not None:
        driver.status.begin()
    display.say(
        f"streaming to {plan.session.group} with {plan.protocol.name} from {sockets.describe(interface.address)}, "
        f"session {driver.session}"
    )
    audience = Audience()

    def watch(now: float) -> None:
        if (words := audience.look(driver.observer.endpoint.sample(now=now), now)) is not None:
            display.say(words)
            driver.observer.detail = words if words == GONE else ""

    driver.runtime.every(SHOW_INTERVAL_S, watch)
    source.start()
    end = await driver.run(close=source.close)
    row, duration = driver.row(), driver.narrator.duration
    sent = row["sent_bytes"]
    rate = sent * 8 / duration if duration else None
    outcome = driver.outcome(
        end,
        end.complete,
        end.reason,
        sent_bytes=sent,
        duration_s=duration,
        rate_bps=rate,
        data_packets=row.get("data_packets"),
        feedback_packets=row.get("feedback_packets"),
        limiting=row.get("limiting"),
        has_receivers=audience.is_there,
    )
    if end.complete:
        display.say(f"{sent} bytes, {(rate or 0) / 1e6:.2f} Mbps")
    else:
        display.fail(end.reason)
    return outcome


async def receive_stream(
    plan: Plan,
    stream: io.FileIO,
    interface: sockets.Interface,
    display: Display,
    *,
    delay: float | None = None,
    wait: float | None = None,
) -> Outcome:
    """Play into a stream, `delay` seconds behind the network; None: as many as the session needs. Raises SocketError,
    OSError of the stream."""

    def guarded(action: Callable[[], None]) -> None:
        driver.runtime.guarded(action)  # which does not exist yet

    def failed() -> None:  # the sender is told, as of anybody who leaves
        guarded(lambda: driver.runtime.stop("the output takes no more"))

    kept = is_file(stream)  # what is late for a reader is not late for a file
    pace = Pace(delay, display.say)
    output = Output(stream, math.inf if kept else max(pace.delay, LEAST_PATIENCE_S), failed)
    player = _Player(output, guarded, pace)
    narrator = _ReceiverNarrator(display)
    driver = Driver(plan, plan.receiver(), interface, narrator, "receiver", take=player.take)
    pace.endpoint = driver.runtime.endpoint
    driver.runtime.every(SHOW_INTERVAL_S, lambda now: display.stream(_words(player.account(), narrator)))
    driver.listen(wait)
    output.start()
    try:
        end = await driver.run()
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
    outcome = driver.outcome(
        end,
        end.complete,
        end.reason,
        played_bytes=buffer.bytes,
        duration_s=duration,
        rate_bps=buffer.bytes * 8 / duration if duration else None,
        jitter_s=buffer.jitter,
        loss=buffer.loss,
        lost_packets=buffer.lost,
        late_packets=buffer.late,
        unread_packets=buffer.unread,
        played_packets=buffer.played,
        delay_s=pace.delay,
    )
    if end.complete:
        display.say(_words(buffer, narrator))
    else:
        display.fail(end.reason)
    return outcome


def _words(buffer: PlayoutBuffer, narrator: Narrator) -> str:
    """Rate, jitter and loss for a person."""
    until = narrator.ended_at or time.monotonic()
    elapsed = until - narrator.started_at if narrator.started_at is not None else 0.0
    rate = buffer.bytes * 8 / elapsed / 1e6 if elapsed > 0 else 0.0
    return (
        f"{buffer.bytes} bytes, {rate:.2f} Mbps, jitter {buffer.jitter * 1e3:.1f} ms, "
        f"loss {buffer.loss:.2%} ({buffer.late} late, {buffer.unread} not read in time)"
    )
