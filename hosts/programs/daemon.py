"""`canopy recv --daemon`: receives whatever files are sent to a group, one session after the other or several at once.

A socket of its own hears which sessions there are; each gets a receiver as `canopy recv` is one. Bounded: so many
sessions at a time, so many that are remembered, files by the policy (policy.py), a session's memory by its protocol.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import random
import signal
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from engine.command.notify import notify, watchdog_interval_s
from hosts.endpoint import Address, Datagram
from hosts.programs.driver import INTERRUPTED, Plan
from hosts.programs.files import FileSink
from hosts.programs.naming import Existing
from hosts.programs.observe import STATUS_INTERVAL_S, replace_json
from hosts.programs.part import remove_leftovers
from hosts.programs.policy import Policy
from hosts.programs.progress import Display
from hosts.programs.transfer import ReceiverNarrator, rate_words, receiver_driver
from hosts.runtime import sockets
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

LISTEN_INTERVAL_S: Final = 0.05
"""How often the listening socket is looked at (ours). Senders announce themselves several times a second."""
LISTEN_BUFFER_BYTES: Final = 1 << 18
"""Some hundred packets: a sample is enough to know which sessions there are (ours)."""
LISTEN_AT_ONCE: Final = 256
ADMITTED_WITHIN_S: Final = 10.0
"""A session whose sender does not admit the receiver for so long makes room for others (ours)."""
SILENT_S: Final = 60.0
"""A session that is over is forgotten when it was silent for so long; its number may then be used again (ours)."""
REMEMBERED: Final = 4096
"""Sessions that are over and are not taken up again (ours)."""
INTERFACE_INTERVAL_S: Final = 5.0
"""How often the interface is looked after: one that was made anew has lost its memberships (ours)."""
DATAGRAM_BYTES: Final = 1 << 16
RESULTS: Final = ("received", "refused", "failed")
"""What comes of a session. Refused: by the policy, or because the file is there."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a daemon was told to do."""

    plan: Plan
    policy: Policy
    interface: sockets.Interface
    existing: Existing = "refuse"
    resume: bool = False
    """Whether what a session leaves unfinished is kept, and what is there is not received again."""
    max_sessions: int = 4
    status: Path | None = None
    """A file that says how it goes (docs/status.md)."""


@dataclass(slots=True)
class Tally:
    """What came of all sessions so far."""

    results: Counter[str] = field(default_factory=Counter)
    """`RESULTS`."""
    octets: int = 0
    """Of files, written."""
    last_file_at: float | None = None
    """Seconds since 1970."""


class Daemon:
    """To be made in a running event loop. Raises SocketError and FileError for what is wrong from the start."""

    def __init__(self, service: Service, display: Display) -> None:
        self.service = service
        self.display = display
        self.tally = Tally()
        self.sessions: dict[int, _Reception] = {}
        self._loop = asyncio.get_running_loop()
        self._over: OrderedDict[int, float] = OrderedDict()  # session -> when it was last heard
        self._crowded: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop: asyncio.Future[int] = self._loop.create_future()
        self._listener: socket.socket | None = None
        self._device = 0
        self._started_at = time.time()

    async def run(self) -> int:
        """Until a signal, whose number is returned."""
        session, folder = self.service.plan.session, self.service.policy.folder
        with _claim(folder):
            for leftover in remove_leftovers(folder, resumable=not self.service.resume):
                self.display.say(f"removed {leftover}, which an earlier receiver left behind")
            self._open()
            numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            for number in numbers:
                self._loop.add_signal_handler(number, self._ask_to_stop, number)
            helpers = [
                self._loop.create_task(self._every(LISTEN_INTERVAL_S, self._listen)),
                self._loop.create_task(self._every(INTERFACE_INTERVAL_S, self._look_after_interface)),
                self._loop.create_task(self._every(STATUS_INTERVAL_S, self._write_status)),
            ]
            if (interval := watchdog_interval_s()) is not None:
                helpers.append(self._loop.create_task(self._every(interval, lambda: notify("WATCHDOG=1"))))
            source = f" from {session.source}" if session.source else ""
            where = sockets.describe(self.service.interface.address)
            self.display.say(f"receiving sessions on {session.group}{source} at {where} into {folder}")
            self._write_status()
            notify(f"READY=1\nSTATUS=listening on {session.group}{source} at {where}")
            try:
                ends: list[asyncio.Future[Any]] = [self._stop, *helpers]
                done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # what a helper raises is a fault of ours
            finally:
                notify("STOPPING=1")
                for helper in helpers:
                    helper.cancel()
                for reception in self.sessions.values():
                    reception.stop(INTERRUPTED)
                await asyncio.gather(*helpers, *self._tasks, return_exceptions=True)
                for number in numbers:
                    self._loop.remove_signal_handler(number)
                self._close()
                self._write_status("stopped")
            return self._stop.result()

    def describe(self) -> dict[str, Any]:
        """The status file's contents, but for the state."""
        session, tally = self.service.plan.session, self.tally
        return {
            "version": 1,
            "protocol": self.service.plan.protocol.name,
            "group": session.group.host,
            "port": session.group.port,
            "address": self.service.interface.address,
            "interface": sockets.interface_name(self.service.interface.address),
            "folder": str(self.service.policy.folder),
            "started_at": self._started_at,
            "updated_at": time.time(),
            **{result: tally.results[result] for result in RESULTS},
            "received_bytes": self.received_bytes,
            "last_file_at": tally.last_file_at,
            "sessions": [reception.describe() for reception in list(self.sessions.values())],
        }

    @property
    def received_bytes(self) -> int:
        """Of files, those that are being received included."""
        return self.tally.octets + sum(reception.sink.written for reception in list(self.sessions.values()))

    # --- which sessions there are

    def _open(self) -> None:
        session, interface = self.service.plan.session, self.service.interface
        listener = sockets.open_group(session.group)
        try:
            sockets.size_receive_buffer(listener, LISTEN_BUFFER_BYTES)
            sockets.join(listener, session.group.host, session.source, interface)
        except sockets.SocketError:
            listener.close()
            raise
        self._listener = listener
        self._device = _device(interface)

    def _close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _listen(self) -> None:
        for _ in range(LISTEN_AT_ONCE):
            try:
                if self._listener is None:
                    return
                data, (host, port) = self._listener.recvfrom(DATAGRAM_BYTES)
            except OSError:
                return  # nothing more, or the interface is down
            session, protocol = self.service.plan.session, self.service.plan.protocol
            if session.source not in (None, host):
                continue
            number = protocol.session_of(Datagram(data, Address(host, port), session.group))
            if number is not None:
                self._heard(number, host)

    def _heard(self, number: int, host: str) -> None:
        now = self._loop.time()
        if number in self.sessions:
            return
        while self._over and (len(self._over) > REMEMBERED or next(iter(self._over.values())) < now - SILENT_S):
            self._over.popitem(last=False)
        if number in self._over:
            self._over[number] = now
            self._over.move_to_end(number)
        elif len(self.sessions) < self.service.max_sessions:
            self._crowded.discard(number)
            self._begin(number, host)
        elif number not in self._crowded and len(self._crowded) < REMEMBERED:
            self._crowded.add(number)
            most = self.service.max_sessions
            self.display.say(f"session {number} from {host} waits: {most} at a time (--max-sessions)")

    def _begin(self, number: int, host: str) -> None:
        try:
            reception = _Reception(self.service, number, host, self.display)
        except (FileError, sockets.SocketError, OSError) as error:
            self._ended(number, "failed")
            self.display.fail(f"session {number} from {host}: {error}")
            return
        self.sessions[number] = reception
        task = self._loop.create_task(self._receive(number, reception))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _receive(self, number: int, reception: "_Reception") -> None:
        result = "failed"
        try:
            result = await reception.run()
        finally:
            del self.sessions[number]
            self.tally.octets += reception.sink.written
            if result == "received":
                self.tally.last_file_at = time.time()
            self._ended(number, result)

    def _ended(self, number: int, result: str) -> None:
        self._over[number] = self._loop.time()
        self.tally.results[result] += 1
        if not self._stop.done():
            counts = ", ".join(f"{self.tally.results[result]} {result}" for result in RESULTS)
            notify(f"STATUS=listening; {counts}")

    # --- its own affairs

    def _ask_to_stop(self, number: int) -> None:
        if not self._stop.done():
            self._stop.set_result(number)

    async def _every(self, interval: float, action: Any) -> None:
        while True:
            action()
            await asyncio.sleep(interval)

    def _look_after_interface(self) -> None:
        device = _device(self.service.interface)
        if device == self._device or device == 0:
            return
        self._close()
        with contextlib.suppress(sockets.SocketError):  # not yet: the next time
            self._open()
            self.display.say(f"{sockets.describe(self.service.interface.address)} is there again: joined anew")

    def _write_status(self, state: str = "listening") -> None:
        if self.service.status is not None:
            with contextlib.suppress(OSError):  # a full disk stops no transfer
                replace_json(self.service.status, {"state": state, **self.describe()})


class _Reception:
    """One session."""

    def __init__(self, service: Service, number: int, host: str, display: Display) -> None:
        plan = service.plan
        rng = random.Random(plan.rng.getrandbits(64))
        plan = replace(plan, session=replace(plan.session, session=number), rng=rng)
        self.number = number
        self.host = host
        resume = service.resume
        self.sink = FileSink(service.policy.folder, service.existing, service.policy.check, resume=resume, keep=resume)
        self._display = display
        self._narrator = ReceiverNarrator(display, self.sink)
        try:
            self._driver = receiver_driver(plan, service.interface, self._narrator, self.sink)
        except BaseException:
            self.sink.discard()  # it has its folder open
            raise

    async def run(self) -> str:
        """To the session's end: received, refused or failed."""
        runtime = self._driver.runtime
        given_up = asyncio.get_running_loop().call_later(ADMITTED_WITHIN_S, self._give_up)
        try:
            with self.sink:
                end = await runtime.run()
                reason = str(runtime.error) if runtime.error is not None else end.reason
        except (FileError, sockets.SocketError, OSError) as error:
            reason = str(error)
        finally:
            given_up.cancel()
        who = f"session {self.number} from {self.host}"
        if self.sink.path is not None:
            rate = rate_words(self._narrator.goodput_bps(self.sink.received))
            self._display.say(f"{who}: {self.sink.path}, {self.sink.written} bytes{rate}")
            return "received"
        refused = runtime.error is not None and runtime.error.reason is Reason.REFUSED_FILE
        self._display.fail(f"{who} {'refused' if refused else 'failed'}: {reason}")
        return "refused" if refused else "failed"

    def stop(self, reason: str) -> None:
        """End it early, in good order."""
        if not self._driver.runtime.endpoint.closed:
            self._driver.runtime.stop(reason)

    def describe(self) -> dict[str, Any]:
        """For the status file."""
        row = self._driver.row()
        contents = self.sink.contents
        return {
            "session": self.number,
            "source": self.host,
            "file": contents.label if contents else None,
            "size_bytes": contents.size if contents else None,
            "written_bytes": self.sink.written,
            "rate_bps": row.get("rate_bps"),
        }

    def _give_up(self) -> None:
        if self._narrator.started_at is None:
            self.stop(f"the sender has not let us in within {ADMITTED_WITHIN_S:g} s")


@contextlib.contextmanager
def _claim(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two daemons do not tidy up each other's files. Raises FileError."""
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise FileError(f"{folder}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno != errno.EWOULDBLOCK:
                raise
            raise FileError(f"{folder}: another daemon receives into it") from None
        yield
    finally:
        os.close(place)


def _device(interface: sockets.Interface) -> int:
    """The number of the interface, which a new one of the same name does not have; 0: it is not there."""
    try:
        return socket.if_nametoindex(sockets.interface_name(interface.address))
    except OSError:
        return 0
