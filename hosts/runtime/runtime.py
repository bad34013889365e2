"""Runs one endpoint on real UDP sockets in an asyncio loop: all the glue there is."""

import asyncio
import contextlib
import functools
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hosts.application import Application, NetworkEffect, Sink, Source, with_hashes
from hosts.endpoint import (
    Address,
    Compute,
    Datagram,
    DatagramRun,
    DeliverDatagram,
    Effect,
    Endpoint,
    Event,
    JoinGroup,
    LeaveGroup,
    Send,
    SenderEndpoint,
    SendRun,
    SessionEnded,
    SessionStarted,
)
from hosts.runtime import sockets
from hosts.runtime.clock import PatientLoop
from hosts.runtime.datagrams import BATCH, RUN_BYTES, Inbox, Outbox
from hosts.runtime.disk import Content, ReadAhead, WriteBehind
from hosts.runtime.elsewhere import Elsewhere
from hosts.storage import Library
from hosts.wire.manifest import FileError

TURN_S: Final = 0.001
"""After so much of what was read together timers and the other sockets get their turn first (ours): what a message with
64 datagrams takes is a tenth of that."""
FEED_BYTES: Final = 1 << 18
"""Likewise after so much of what a sender is given (ours)."""


class Runtime:
    """One endpoint, its sockets, its timer and its application's end of the stream."""

    def __init__(
        self,
        endpoint: Endpoint,
        interface: sockets.Interface,
        *,
        source: Source | Library | None = None,
        content: Content | None = None,
        sink: Sink | None = None,
        take: Callable[[DeliverDatagram], None] = lambda datagram: None,
        prepare: Callable[[bytes], int] | None = None,
        read_rate_bps: float | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
        on_warning: Callable[[str], None] = lambda text: None,
        port: int = 0,
    ) -> None:
        """`content`: a source that is read ahead in a thread from the session's start on, and left alone when `run` has
        ended; a `sink` is written in one. `prepare` says how much of an offer is here, in a thread, too. `take` gets
        what a real-time session delivers; `read_rate_bps`: how fast the application reads, bit/s (None: at once).
        Raises SocketError and FileError."""
        self.endpoint = endpoint
        endpoint.run_bytes = RUN_BYTES
        self.counters: Counter[str] = Counter()
        """send_errors, backlog_drops, kernel_drops: what the sockets did not take, and what nobody took from them."""
        self._content = content
        self._checked = endpoint.checked_bytes if isinstance(endpoint, SenderEndpoint) else None
        self._ahead: ReadAhead | None = None
        if content is not None:
            self._ahead = ReadAhead(content, self.poke_from_thread)
        self._behind = None if sink is None else WriteBehind(sink, self.poke_from_thread)
        self._application = Application(
            endpoint,
            source=source if self._ahead is None else self._ahead,
            sink=self._behind,
            take=take,
            read_rate_bps=read_rate_bps,
            on_event=self._event,
            finish=self._finish_elsewhere,
            prepare=None if prepare is None else functools.partial(self._prepare_elsewhere, prepare),
            compute=self._compute_elsewhere,
            behind=self._behind,
        )
        self._interface = interface
        self._on_event = on_event
        self._on_warning = on_warning
        self._buffer_bytes = sockets.RECEIVE_BUFFER_BYTES
        self._loop = asyncio.get_running_loop()
        self._selector = self._loop.sockets if isinstance(self._loop, PatientLoop) else None
        self._unicast = sockets.open_unicast(interface, port)
        self._inbox = Inbox(self._loop.time)
        self._outbox = Outbox(self._unicast, self.counters)
        self._size_buffer(self._unicast)
        self._groups: dict[tuple[Address, str | None], socket.socket] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._periodic: list[asyncio.TimerHandle] = []
        self._elsewhere = Elsewhere(self.guarded)
        self._has_begun = self._will_feed = False
        self._ended: asyncio.Future[SessionEnded] = self._loop.create_future()
        self.address = Address(*self._unicast.getsockname())
        endpoint.place(self.address)

    @property
    def kernel(self) -> str:
        """What the kernel does for this session, for a person."""
        helps = {"UDP_SEGMENT": sockets.cuts_messages(self._unicast), "UDP_GRO": sockets.put_together(self._unicast)}
        words = [f"{name} {'on' if has else 'not there'}" for name, has in helps.items()]
        return f"kernel: {', '.join(words)}, receive buffer {self._buffer_bytes} bytes"

    @property
    def error(self) -> FileError | None:
        """What went wrong with the file, if anything did."""
        return self._application.error

    async def run(self) -> SessionEnded:
        """Drive the endpoint to its end. Raises SocketError when a group cannot be joined, FileError when the content
        cannot be read."""
        try:
            if self._ahead is not None:
                await self._hash_ahead(self._ahead)
            if not self._ended.done():  # nobody has stopped it meanwhile
                self._has_begun = True
                self._listen(self._unicast, self.address)
                self._step(self.endpoint.start(now=self._loop.time()))
            return await self._ended
        finally:
            await self._elsewhere.end()
            for disk in (self._ahead, self._behind):
                if disk is not None:
                    await self._loop.run_in_executor(None, disk.close)
            self._close()

    async def _hash_ahead(self, ahead: ReadAhead) -> None:
        """The packets' hashes, before the session begins: its receivers wait for no file to be read."""
        try:
            ahead.source = await self._loop.run_in_executor(None, self._with_hashes)
        except FileError:
            if not self._ended.done():
                raise

    def _with_hashes(self) -> Source:
        assert self._content is not None
        return with_hashes(self._content, self._checked, lambda: not self._ended.done())

    def stop(self, reason: str) -> None:
        """End the session early, in good order."""
        if not self._has_begun:
            self._event(SessionEnded(False, reason))
            return
        self._step(self.endpoint.close(now=self._loop.time(), reason=reason))

    def start_now(self) -> None:
        """Have a sender wait for no more receivers."""
        if self._has_begun and isinstance(self.endpoint, SenderEndpoint):
            self._step(self.endpoint.start_now(now=self._loop.time()))

    def poke(self) -> None:
        """A source that had nothing has something now, or has ended."""
        if not self._ended.done():
            self.guarded(lambda: self._take(self._application.settle(self._loop.time())))

    def poke_from_thread(self) -> None:
        """The same from a thread."""
        with contextlib.suppress(RuntimeError):  # the loop is over: nobody listens any more
            self._loop.call_soon_threadsafe(self.poke)

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
        if given < self._buffer_bytes and given < sockets.ENOUGH_BUFFER_BYTES:
            self._on_warning(
                f"the kernel gives a receive buffer of {given} bytes only (net.core.rmem_max); packets may be lost"
            )
        self._buffer_bytes = min(given, self._buffer_bytes)

    def _count_drops(self, dropped: int) -> None:
        if not self.counters["kernel_drops"]:
            remedy = "it is too busy"
            if self._buffer_bytes < sockets.RECEIVE_BUFFER_BYTES:
                remedy = f"`sysctl net.core.rmem_max={sockets.RECEIVE_BUFFER_BYTES}` gives more than these"
                remedy = f"{remedy} {self._buffer_bytes} bytes"
            self._on_warning(f"this machine drops packets that wait for canopy to read them: {remedy}")
        self.counters["kernel_drops"] = dropped

    def _listen(self, sock: socket.socket, destination: Address) -> None:
        sockets.stamp_arrivals(sock)
        sockets.count_drops(sock)
        sockets.put_together(sock)
        is_unicast = sock is self._unicast
        take = self._inbox.take
        carry_out = self._application.carry_out
        monotonic = self._loop.time

        waiting: deque[Datagram | DatagramRun] = deque()

        def read() -> None:
            if waiting:
                return  # those come first, in a turn of their own
            try:
                waiting.extend(take(sock, destination, unicast=is_unicast))
            except OSError:
                self.counters["receive_errors"] += 1
            if self._inbox.dropped != self.counters["kernel_drops"]:
                self._count_drops(self._inbox.dropped)
            handle()

        def handle() -> None:
            endpoint_receive = self.endpoint.receive
            left: list[NetworkEffect] = []
            if self._ended.done():
                waiting.clear()
            now = monotonic()
            until = now + TURN_S
            while waiting and now < until:
                one = waiting.popleft()
                if type(one) is Datagram:
                    effects = endpoint_receive(one, now=now)
                else:
                    effects = self.endpoint.receive_run(one, now=now)  # type: ignore[arg-type]
                if effects:
                    left += carry_out(effects, now)
                    if len(left) >= BATCH or type(one) is DatagramRun:
                        self._put_on_network(left)
                        left = []
                now = monotonic()
            if waiting:
                self._loop.call_soon(self.guarded, handle)
            self._put_on_network(left)  # together: the answers to all take as many system calls as those to one
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
            self._inbox.forget(sock)
            with contextlib.suppress(sockets.SocketError):  # the interface may be gone; closing leaves as well
                sockets.leave(sock, effect.group.host, effect.source, self._interface)
            sock.close()

    def _send(self, sends: Sequence[Send | SendRun]) -> None:
        self.endpoint.handed_over(now=self._loop.time())
        if self._outbox.send(sends):
            self._loop.add_writer(self._unicast, self._writable)

    def _writable(self) -> None:
        if not self._outbox.resume():
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
        """Carry out effects, those that they lead to included, in order."""
        self._take(self._application.carry_out(effects, self._loop.time()))

    def _take(self, effects: Iterable[NetworkEffect]) -> None:
        self._put_on_network(effects)
        self._settle()

    def _put_on_network(self, effects: Iterable[NetworkEffect]) -> None:
        sends: list[Send | SendRun] = []
        for effect in effects:
            if type(effect) is Send or type(effect) is SendRun:
                sends.append(effect)
                continue
            if sends:  # in order
                self._send(sends)
                sends = []
            if type(effect) is JoinGroup:
                self._join(effect)
            elif type(effect) is LeaveGroup:
                self._leave(effect)
        if sends:
            self._send(sends)

    def _finish_elsewhere(self, sink: Sink) -> None:
        """In a thread: syncing a large file to disk takes its time, and the protocol has questions to answer."""
        finished = self._application.finished
        self._elsewhere.begin(sink.finish, lambda _, problem: self._take(finished(problem, self._loop.time())))

    def _prepare_elsewhere(self, prepare: Callable[[bytes], int], content: bytes) -> None:
        """Likewise: what is here is read to be compared."""
        prepared = self._application.prepared
        self._elsewhere.begin(
            lambda: prepare(content), lambda held, problem: self._take(prepared(held or 0, problem, self._loop.time()))
        )

    def _compute_elsewhere(self, effect: Compute) -> None:
        """Likewise: what takes milliseconds would keep packets waiting."""
        computed = self._application.computed
        self._elsewhere.begin(
            effect.work, lambda _, problem: self._take(computed(self._loop.time())), has_time=effect.has_time
        )

    def _event(self, event: Event) -> None:
        if isinstance(event, SessionStarted) and self._ahead is not None:
            self._ahead.start(functools.partial(self._behind_what_all_have, event.held) if event.held else None)
        self._on_event(event)
        if isinstance(event, SessionEnded) and not self._ended.done():
            self._ended.set_result(event)

    def _behind_what_all_have(self, held: int) -> Source:
        assert self._content is not None
        self._content.begin(held)
        return self._with_hashes()

    def _settle(self) -> None:
        """After a batch of inputs: feed the sender, and set the timer."""
        endpoint = self.endpoint
        if not self._will_feed:  # else in a turn of its own
            self._put_on_network(self._application.feed(self._loop.time(), FEED_BYTES))
            self._will_feed = self._application.is_hungry
            if self._will_feed:
                self._loop.call_soon(self._feed_on)
        if endpoint.closed:
            return
        if self._selector is not None:
            self._selector.patience_s = endpoint.patience_s
            self._selector.is_precise = endpoint.is_precise
        wake, read_at, timer = endpoint.wake_at, self._application.read_at, self._timer
        if read_at is not None and (wake is None or read_at < wake):
            wake = read_at
        # A timer that fires early does no harm, so one is moved only when it would fire late.
        if wake is not None and (timer is None or wake < timer.when()):
            if timer is not None:
                timer.cancel()
            self._timer = self._loop.call_at(wake, self.guarded, self._fired)

    def _feed_on(self) -> None:
        self._will_feed = False
        self.poke()

    def _fired(self) -> None:
        self._timer = None
        if not self.endpoint.closed:
            now = self._loop.time()
            self._put_on_network(self._application.carry_out(self.endpoint.handle_timer(now=now), self._loop.time()))
            self._take(self._application.read(now))
