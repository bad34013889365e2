"""A host of the network in virtual time: what the runtime and the application do for an endpoint; time in seconds."""

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from hosts.endpoint import (
    Compute,
    Datagram,
    DatagramRun,
    Deliver,
    Effect,
    Endpoint,
    JoinGroup,
    LeaveGroup,
    ReceiverEndpoint,
    Send,
    SenderEndpoint,
    SendRun,
    SessionEnded,
    StreamEnded,
)
from tests.hosts.surroundings import Surroundings


@dataclass(frozen=True)
class Clock:
    """A host's clock: what it shows at true time t is offset + t (1 + drift)."""

    offset: float = 0.0
    drift: float = 0.0

    def local(self, time: float) -> float:
        return self.offset + time * (1 + self.drift)

    def true(self, local: float) -> float:
        return (local - self.offset) / (1 + self.drift)


TRUE_TIME = Clock()


class Host:
    """An endpoint, its clock, and its application: a stream to send or what has been received."""

    def __init__(self, network: Surroundings, name: str, endpoint: Endpoint, clock: Clock, source: bytes) -> None:
        self.network = network
        self.name = name
        self.endpoint = endpoint
        self._is_sender = isinstance(endpoint, SenderEndpoint)
        self.clock = clock
        self._shows_true_time = clock == TRUE_TIME
        self.address = network.address(name)
        self.source = source
        self.written = 0
        self.endless = False
        self.received = bytearray()
        self.consume_bps: float | None = None
        """How fast the application reads; None: at once."""
        self._unread: deque[int] = deque()
        self._has_all = False
        self.confirm_complete = True
        self.events: list[tuple[float, Effect]] = []
        self.progress: list[tuple[float, int]] = []
        """Receiver: (true time, bytes delivered so far)."""
        self.first_offset: int | None = 0
        """Where the stream has to begin; None: where it does."""
        self.alive = True
        self.quantum_s = 0.0
        """A busy machine: the host's program runs only every so often (0: at once), for all that came meanwhile."""
        self.runs = 0
        """Of those that came meanwhile, so many runs have been handed over together; see `hand_over_runs`."""
        self._arrived: list[Datagram] | None = None
        self._wake: float | None = None

    def hand_over_runs(self) -> None:
        """As the kernel's runtime does: both ways, of what came while the program did not run."""
        self.endpoint.run_bytes = 64_000
        self._arrived = []

    def _when_scheduled(self, time: float) -> float:
        if not self.quantum_s:
            return time
        return (math.floor(time / self.quantum_s) + 1) * self.quantum_s

    @property
    def now(self) -> float:
        return self.network.now if self._shows_true_time else self.clock.local(self.network.now)

    def start(self) -> None:
        self.endpoint.place(self.address)
        self.apply(self.endpoint.start(now=self.now))

    def kill(self) -> None:
        """As a power cut: nobody is told."""
        self.alive = False

    def receive(self, datagram: Datagram) -> None:
        """A datagram has arrived."""
        if self.quantum_s:
            waiting = datagram._replace(arrived_at=self.now)
            at = self._when_scheduled(self.network.now)
            if self._arrived is None:
                self.network.at(at, self._handle, waiting)
            else:
                if not self._arrived:
                    self.network.at(at, self._handle_runs)
                self._arrived.append(waiting)
        else:
            self._handle(datagram)

    def _handle(self, datagram: Datagram) -> None:
        if self.alive:
            self.apply(self.endpoint.receive(datagram, now=self.now))

    def _handle_runs(self) -> None:
        arrived, self._arrived = self._arrived or [], []
        while arrived and self.alive:
            _, group = next(groupby(arrived, _likeness))
            alike = list(group)[:64]
            first = alike[0]
            del arrived[: len(alike)]
            if len(alike) == 1:
                self._handle(first)
                continue
            self.runs += 1
            whole = b"".join(one.data for one in alike)
            run = DatagramRun(whole, len(first.data), *first[1:4], alike[-1].arrived_at, *first[4:])
            self.apply(self.endpoint.receive_run(run, now=self.now))

    def _timer(self, at: float) -> None:
        if self._wake != at:
            return
        self._wake = None
        if self.alive:
            self.apply(self.endpoint.handle_timer(now=self.now))

    def apply(self, effects: Sequence[Effect]) -> None:
        """Carry out an endpoint's answer, then do the application's part."""
        network = self.network
        for effect in effects:
            if isinstance(effect, Send):
                data, destination, ecn = effect
                network.forward(self.name, Datagram(data, self.address, destination, None, None, ecn))
            elif isinstance(effect, SendRun):
                for at in range(0, len(effect.data), effect.size):
                    piece = effect.data[at : at + effect.size]
                    network.forward(self.name, Datagram(piece, self.address, effect.destination, ecn=effect.ecn))
            elif isinstance(effect, Deliver):
                self._deliver(effect)
            elif isinstance(effect, JoinGroup):
                self.network.join(effect.group, self.name)
            elif isinstance(effect, LeaveGroup):
                self.network.leave(effect.group, self.name)
            elif isinstance(effect, Compute):
                effect.work()
                self.apply(self.endpoint.computed(now=self.now))
            else:
                self.events.append((self.network.now, effect))
                if isinstance(effect, StreamEnded) and isinstance(self.endpoint, ReceiverEndpoint):
                    self._has_all = True
                    self._confirm()
        if self._is_sender:
            self._feed()
        self._arm()

    def _confirm(self) -> None:
        """When the application has read all."""
        assert isinstance(self.endpoint, ReceiverEndpoint)
        if self._has_all and not self._unread:
            self._has_all = False
            self.apply(self.endpoint.confirm(complete=self.confirm_complete, now=self.now))

    def _deliver(self, effect: Deliver) -> None:
        assert isinstance(self.endpoint, ReceiverEndpoint)
        if not self.progress and self.first_offset is None:
            self.first_offset = effect.offset
        assert effect.offset == (self.progress[-1][1] if self.progress else self.first_offset), "a gap in the stream"
        self.progress.append((self.network.now, effect.offset + len(effect.data)))
        if not self.endless:
            self.received += effect.data
        if self.consume_bps is None:
            self.apply(self.endpoint.consumed(len(effect.data), now=self.now))
            return
        self._unread.append(len(effect.data))
        if len(self._unread) == 1:
            self.network.at(self.network.now + len(effect.data) * 8 / self.consume_bps, self._read)

    def _read(self) -> None:
        assert isinstance(self.endpoint, ReceiverEndpoint)
        assert self.consume_bps is not None
        if not self.alive:
            return
        count = self._unread.popleft()
        if self._unread:
            self.network.at(self.network.now + self._unread[0] * 8 / self.consume_bps, self._read)
        self.apply(self.endpoint.consumed(count, now=self.now))
        self._confirm()

    def _feed(self) -> None:
        endpoint = cast(SenderEndpoint, self.endpoint)
        space = endpoint.send_space
        if not space or endpoint.closed:
            return
        if self.endless:
            self.apply(endpoint.write(bytes(space), now=self.now))
        elif self.written < len(self.source):
            piece = self.source[self.written : self.written + space]
            self.written += len(piece)
            self.apply(endpoint.write(piece, now=self.now))
            if self.written == len(self.source):
                self.apply(endpoint.finish(now=self.now))
        elif not self.source:
            self.source = b""
            self.apply(endpoint.finish(now=self.now))

    def _arm(self) -> None:
        wake = self.endpoint.wake_at
        if wake is None:
            self._wake = None
            return
        now = self.network.now
        at = (wake if self._shows_true_time else self.clock.true(wake)) + 1e-9
        if at < now:
            at = now
        if self.quantum_s:
            at = self._when_scheduled(at)
        if self._wake is None or at < self._wake or at > self._wake + 1e-6:
            self._wake = at
            self.network.at(at, self._timer, at)

    def events_of(self, kind: type) -> list[Any]:
        """The events of one type, in order."""
        return [event for _, event in self.events if isinstance(event, kind)]

    @property
    def end(self) -> SessionEnded | None:
        ends = self.events_of(SessionEnded)
        assert len(ends) <= 1
        return ends[0] if ends else None

    def rate_bps(self, start: float, stop: float) -> float:
        """Mean rate of the stream's delivery in an interval of true time."""

        def at(time: float) -> int:
            after = bisect_right(self.progress, (time, math.inf))
            return self.progress[after - 1][1] if after else 0

        return (at(stop) - at(start)) * 8 / (stop - start)


def _likeness(datagram: Datagram) -> tuple[object, ...]:
    """What those of a run have in common."""
    return (*datagram[1:3], *datagram[4:], len(datagram.data))
