"""Runs one endpoint on real UDP sockets in an asyncio loop: all the glue there is."""

import asyncio
import contextlib
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hosts import sockets
from hosts.application import Application, NetworkEffect, Sink, Source
from hosts.clock import PatientLoop
from hosts.endpoint import (
    Address,
    Datagram,
    DeliverDatagram,
    Effect,
    Endpoint,
    Event,
    JoinGroup,
    LeaveGroup,
    Send,
    SenderEndpoint,
    SessionEnded,
)
from hosts.files import FileError

MAX_DATAGRAM: Final = 65535
BATCH: Final = 32
"""Datagrams read at a time, before timers and the other sockets get their turn (ours)."""
BACKLOG: Final = 1024
"""Datagrams kept while the kernel takes no more; beyond that they are dropped, as a full queue would (ours)."""
LONGEST_WAIT_S: Final = 1.0
"""No datagram waits longer in a socket's buffer; a timestamp that says so is not believed (ours)."""
PEERS: Final = 4096
"""Source addresses remembered as objects (ours)."""


class Runtime:
    """One endpoint, its sockets, its timer and its application's end of the stream."""

    def __init__(
        self,
        endpoint: Endpoint,
        interface: sockets.Interface,
        *,
        source: Source | None = None,
        sink: Sink | None = None,
        take: Callable[[DeliverDatagram], None] = lambda datagram: None,
        read_rate_bps: float | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
        on_warning: Callable[[str], None] = lambda text: None,
        port: int = 0,
    ) -> None:
        """`take` gets what a real-time session delivers; `read_rate_bps`: how fast the application reads, bit/s (None:
        at once). Raises SocketError."""
        self.endpoint = endpoint
        self.counters: Counter[str] = Counter()
        """send_errors, backlog_drops: what the sockets did not take."""
        self._application = Application(
            endpoint,
            source=source,
            sink=sink,
            take=take,
            read_rate_bps=read_rate_bps,
            on_event=self._event,
            finish=self._finish_elsewhere,
        )
        self._interface = interface
        self._on_event = on_event
        self._on_warning = on_warning
        self._warned = False
        self._loop = asyncio.get_running_loop()
        self._selector = self._loop.sockets if isinstance(self._loop, PatientLoop) else None
        self._unicast = sockets.open_unicast(interface, port)
        self._size_buffer(self._unicast)
        self._groups: dict[tuple[Address, str | None], socket.socket] = {}
        self._peers: dict[tuple[str, int], Address] = {}
        self._backlog: deque[Send] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._periodic: list[asyncio.TimerHandle] = []
        self._finishing: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[SessionEnded] = self._loop.create_future()
        self.address = Address(*self._unicast.getsockname())

    @property
    def error(self) -> FileError | None:
        """What went wrong with the file, if anything did."""
        return self._application.error

    async def run(self) -> SessionEnded:
        """Drive the endpoint to its end. Raises SocketError when a group cannot be joined."""
        self._listen(self._unicast, self.address)
        try:
            self._step(self.endpoint.start(now=self._loop.time()))
            return await self._ended
        finally:
            if self._finishing is not None:
                await self._finishing
            self._close()

    def stop(self, reason: str) -> None:
        """End the session early, in good order."""
        self._step(self.endpoint.close(now=self._loop.time(), reason=reason))

    def start_now(self) -> None:
        """Have a sender wait for no more receivers."""
        if isinstance(self.endpoint, SenderEndpoint):
            self._step(self.endpoint.start_now(now=self._loop.time()))

    def poke(self) -> None:
        """A source that had nothing has something now, or has ended."""
        if not self._ended.done():
            self.guarded(self._settle)

    def every(self, interval: float, action: Callable[[float], None]) -> None:
        """Call `action(now)` every `interval` seconds, and a last time at the end."""

        def tick(index: int) -> None:
            action(self._loop.time())
            self._periodic[index] = self._loop.call_later(interval, tick, index)

        index = len(self._periodic)
        self._periodic.append(self._loop.call_later(interval, tick, index))
        self._ended.add_done_callback(lambda ended: action(self._loop.time()))

    # --- sockets

    def _size_buffer(self, sock: socket.socket) -> None:
        given = sockets.size_receive_buffer(sock)
        if given < sockets.RECEIVE_BUFFER_BYTES and not self._warned:
            self._warned = True
            self._on_warning(
                f"the kernel gives a receive buffer of {given} bytes only (net.core.rmem_max); packets may be lost"
            )

    def _listen(self, sock: socket.socket, destination: Address) -> None:
        sockets.stamp_arrivals(sock)
        receive = sock.recvmsg_into
        # One buffer for all: a new one of the largest size for each datagram would have the kernel clear pages.
        room = memoryview(bytearray(MAX_DATAGRAM))
        peers = self._peers
        is_unicast = sock is self._unicast
        time_of_day = time.time

        def read() -> None:
            endpoint_receive = self.endpoint.receive
            monotonic = self._loop.time
            now = monotonic()
            # Both clocks now: what turns the kernel's timestamps into times of ours.
            offset = now - time_of_day()
            for number in range(BATCH):
                try:
                    size, ancillary, _, source = receive([room], sockets.ANCILLARY_SPACE)
                except BlockingIOError:
                    break
                except OSError:
                    self.counters["receive_errors"] += 1
                    break
                peer = peers.get(source)
                if peer is None:
                    if len(peers) >= PEERS:
                        peers.clear()
                    peer = peers[source] = Address(*source)
                if number:
                    now = monotonic()
                arrived = sockets.arrival_time(ancillary)
                if arrived is not None:
                    arrived += offset
                    if not now - LONGEST_WAIT_S < arrived <= now:
                        arrived = None  # the system clock was set meanwhile
                hops = sockets.hops(ancillary) if is_unicast else None
                datagram = Datagram(room[:size].tobytes(), peer, destination, arrived, hops)
                effects = endpoint_receive(datagram, now=now)
                if effects:
                    self._apply(effects)
                if sock.fileno() < 0:
                    return  # the datagram ended the session
            self._settle()

        self._loop.add_reader(sock, self.guarded, read)

    def guarded(self, action: Callable[[], None]) -> None:
        """Run a callback of the loop; what it raises ends `run` instead of being logged and forgotten."""
        try:
            action()
        except Exception as error:
            if self._ended.done():
                raise
            self._ended.set_exception(error)

    def _join(self, effect: JoinGroup) -> None:
        sock = sockets.open_group(effect.group)
        try:
            self._size_buffer(sock)
            sockets.join(sock, effect.group.host, effect.source, self._interface)
        except sockets.SocketError:
            sock.close()
            raise
        self._groups[(effect.group, effect.source)] = sock
        self._listen(sock, effect.group)

    def _leave(self, effect: LeaveGroup) -> None:
        sock = self._groups.pop((effect.group, effect.source), None)
        if sock is not None:
            self._loop.remove_reader(sock)
            with contextlib.suppress(sockets.SocketError):  # the interface may be gone; closing leaves as well
                sockets.leave(sock, effect.group.host, effect.source, self._interface)
            sock.close()

    def _send(self, send: Send) -> None:
        if self._backlog:
            self._postpone(send)
            return
        try:
            self._unicast.sendto(send.data, send.destination)
        except BlockingIOError:
            self._loop.add_writer(self._unicast, self._writable)
            self._postpone(send)
        except OSError:
            self.counters["send_errors"] += 1  # to the protocol, a lost packet

    def _postpone(self, send: Send) -> None:
        if len(self._backlog) < BACKLOG:
            self._backlog.append(send)
        else:
            self.counters["backlog_drops"] += 1

    def _writable(self) -> None:
        while self._backlog:
            send = self._backlog[0]
            try:
                self._unicast.sendto(send.data, send.destination)
            except BlockingIOError:
                return
            except OSError:
                self.counters["send_errors"] += 1
            self._backlog.popleft()
        self._loop.remove_writer(self._unicast)

    def _close(self) -> None:
        for handle in (*self._periodic, *([self._timer] if self._timer else [])):
            handle.cancel()
        for sock in (self._unicast, *self._groups.values()):
            self._loop.remove_reader(sock)
            self._loop.remove_writer(sock)
            sock.close()
        self._groups.clear()

    # --- the endpoint

    def _step(self, effects: Sequence[Effect]) -> None:
        self._apply(effects)
        self._settle()

    def _apply(self, effects: Iterable[Effect]) -> None:
        """Carry out effects, those that they lead to included, in order."""
        self._put_on_network(self._application.carry_out(effects, self._loop.time()))

    def _put_on_network(self, effects: Iterable[NetworkEffect]) -> None:
        for effect in effects:
            if type(effect) is Send:
                self._send(effect)
            elif type(effect) is JoinGroup:
                self._join(effect)
            elif type(effect) is LeaveGroup:
                self._leave(effect)

    def _finish_elsewhere(self, sink: Sink) -> None:
        """In a thread: syncing a large file to disk takes its time, and the protocol has questions to answer."""
        self._finishing = self._loop.create_task(self._finish(sink))

    async def _finish(self, sink: Sink) -> None:
        problem: FileError | None = None
        try:
            await self._loop.run_in_executor(None, sink.finish)
        except FileError as error:
            problem = error
        self.guarded(lambda: self._finished(problem))

    def _finished(self, problem: FileError | None) -> None:
        self._put_on_network(self._application.finished(problem, self._loop.time()))
        self._settle()

    def _event(self, event: Event) -> None:
        self._on_event(event)
        if isinstance(event, SessionEnded) and not self._ended.done():
            self._ended.set_result(event)

    def _settle(self) -> None:
        """After a batch of inputs: feed the sender, and set the timer."""
        endpoint = self.endpoint
        self._put_on_network(self._application.feed(self._loop.time()))
        if endpoint.closed:
            return
        if self._selector is not None:
            self._selector.patience_s = endpoint.patience_s
        wake, read_at = endpoint.wake_at, self._application.read_at
        if read_at is not None and (wake is None or read_at < wake):
            wake = read_at
        timer = self._timer
        # A timer that fires early does no harm, so one is moved only when it would fire late.
        if wake is not None and (timer is None or wake < timer.when()):
            if timer is not None:
                timer.cancel()
            self._timer = self._loop.call_at(wake, self.guarded, self._fired)

    def _fired(self) -> None:
        self._timer = None
        if not self.endpoint.closed:
            now = self._loop.time()
            self._apply(self.endpoint.handle_timer(now=now))
            self._put_on_network(self._application.read(now))
            self._settle()
