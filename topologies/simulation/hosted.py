"""An endpoint on a simulated host: with its application, on the host's own clock, and behind the host's processor."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hosts.application import Application, NetworkEffect, Sink, Source
from hosts.endpoint import Address, Datagram, Endpoint, Event, JoinGroup, LeaveGroup, SessionEnded
from topologies.scenario.network import FeedbackTime, HostClock

_MILLIONTH = 1e-6
_ROUNDING_S = 1e-9
"""A timer of a host whose clock is wrong comes so much later: rounded on the way to the network's time and back, it
must not seem to be early, or it would be set for the same moment for ever."""
_RIGHT_CLOCK = HostClock()
_NOTHING: tuple[NetworkEffect, ...] = ()

Subscription: TypeAlias = tuple[Address, str | None]


def _earlier(one: float | None, other: float | None) -> float | None:
    """Of two times, each of which may be none."""
    return one if other is None or (one is not None and one < other) else other


class FeedbackServer:
    """A host's processor, as far as feedback is concerned: a single server with a bounded queue, shared by all of the
    host's endpoints. Times are the network's, seconds.

    Packets have reached the host when they come here, and the kernel has their times: what waits for the processor is
    late, but is not taken for a queue in the network, as in an emulation."""

    def __init__(self, settings: FeedbackTime) -> None:
        self.time_s = settings.time
        """What one packet takes."""
        self.dropped = 0
        """Packets that found no room."""
        self._limit = settings.queue
        self._waiting = 0
        self._free_at = 0.0

    def admit(self, now: float) -> float | None:
        """A packet comes; when it is through, or None when there is no room for it."""
        if self._waiting >= self._limit:
            self.dropped += 1
            return None
        self._waiting += 1
        self._free_at = max(self._free_at, now) + self.time_s
        return self._free_at

    def release(self) -> None:
        """A packet is through."""
        self._waiting -= 1


class LateLeaves:
    """One program's leaves that take effect late, as with a router that first asks whether the group has other members
    (RFC 3376, 6.4.2), or without any leave until a membership expires. Times are the network's, seconds.

    A simulated switch or router forgets a member at once; here the host's report waits instead, which is the same to
    everybody but the host's own link, where it is one more way there."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._due: dict[Subscription, float] = {}
        """In the order of time, as all wait for as long."""

    def hold(self, effects: Iterable[NetworkEffect], now: float) -> list[NetworkEffect]:
        """The effects without the leaves, which wait, and without joins of what has not been left yet."""
        passed: list[NetworkEffect] = []
        for effect in effects:
            if isinstance(effect, LeaveGroup):
                self._due[(effect.group, effect.source)] = now + self._latency_s
            elif isinstance(effect, JoinGroup) and (effect.group, effect.source) in self._due:
                del self._due[(effect.group, effect.source)]
            else:
                passed.append(effect)
        return passed

    def take_due(self, now: float) -> list[NetworkEffect]:
        """The leaves whose time has come."""
        found: list[NetworkEffect] = []
        while (at := self.next_at) is not None and at <= now:
            group, source = next(iter(self._due))
            del self._due[(group, source)]
            found.append(LeaveGroup(group, source))
        return found

    @property
    def next_at(self) -> float | None:
        """When the next leave is due."""
        return next(iter(self._due.values()), None)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What an endpoint finds at its host."""

    clock: HostClock = _RIGHT_CLOCK
    read_rate_bps: float | None = None
    """How fast the application reads; None: at once."""
    server: FeedbackServer | None = None
    """The processor that feedback waits for; None: it takes no time."""
    is_feedback: Callable[[bytes], bool] = lambda data: False
    """What the server is needed for."""
    leave_latency_s: float = 0.0
    """How late what it leaves is left."""


class HostedEndpoint:
    """What the simulator calls (`canopy_engine.SimEndpoint`). Times are the network's; the endpoint sees the host's."""

    def __init__(
        self,
        endpoint: Endpoint,
        conditions: Conditions,
        *,
        on_event: Callable[[Event, float], None],
        source: Source | None = None,
        sink: Sink | None = None,
    ) -> None:
        """`on_event` is told the network's time."""
        self.endpoint = endpoint
        self.now = 0.0
        """The network's time of the last call."""
        self.heard: Datagram | None = None
        """What came last, from anybody."""
        self.application = Application(
            endpoint, source=source, sink=sink, read_rate_bps=conditions.read_rate_bps, on_event=self._note
        )
        self._on_event = on_event
        self._is_over = False
        """The endpoint has said that its session is: it does no more."""
        self._reads_slowly = conditions.read_rate_bps is not None
        clock = conditions.clock
        self._offset = clock.offset
        self._speed = 1.0 + clock.drift_ppm * _MILLIONTH
        self._late = _ROUNDING_S if clock.offset or clock.drift_ppm else 0.0
        self._feeds = source is not None
        self._server = conditions.server
        self._is_feedback = conditions.is_feedback
        self._leaves = LateLeaves(conditions.leave_latency_s) if conditions.leave_latency_s else None
        self._waiting: deque[tuple[float, Datagram]] = deque()
        """Feedback, by the time at which the server is through with it."""
        self.served = 0
        """Feedback packets that the server has handled for this endpoint."""

    def _note(self, event: Event) -> None:
        if isinstance(event, SessionEnded):
            self._is_over = True
        self._on_event(event, self.now)

    def local(self, now: float) -> float:
        """What the host's clock shows at a time of the network's."""
        return self._offset + now * self._speed

    def start(self, *, now: float) -> Sequence[NetworkEffect]:
        """Begin."""
        self.now = now
        local = self.local(now)
        return self._settled(self.application.carry_out(self.endpoint.start(now=local), local), now, local)

    def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[NetworkEffect]:
        """Take a datagram. One that comes after the end finds no socket."""
        if self._is_over:
            return _NOTHING
        self.now = now
        self.heard = datagram
        local = self._offset + now * self._speed
        if self._server is not None and self._is_feedback(datagram.data):
            through = self._server.admit(now)
            if through is not None:
                self._waiting.append((through, datagram._replace(arrived_at=local)))
            return _NOTHING
        effects = self.endpoint.receive(datagram, now=local)
        if not effects and not self._feeds:
            return _NOTHING
        return self._settled(self.application.carry_out(effects, local), now, local)

    def handle_timer(self, *, now: float) -> Sequence[NetworkEffect]:
        """Do what has fallen due."""
        self.now = now
        local = self._offset + now * self._speed
        effects = self._serve(now, local) if self._waiting else []
        if not self._is_over:
            effects += self.application.carry_out(self.endpoint.handle_timer(now=local), local)
        if self._reads_slowly:
            effects += self.application.read(local)
        effects = self._settled(effects, now, local)
        return effects if self._leaves is None else effects + self._leaves.take_due(now)

    def close(self, reason: str) -> Callable[..., Sequence[NetworkEffect]]:
        """An action that gives the session up."""

        def action(*, now: float) -> Sequence[NetworkEffect]:
            if self._is_over:
                return _NOTHING
            self.now = now
            local = self.local(now)
            effects = self.application.carry_out(self.endpoint.close(now=local, reason=reason), local)
            return effects if self._leaves is None else self._leaves.hold(effects, now)

        return action

    def forget(self) -> None:
        """It was killed: nothing of it waits for the host's processor any more."""
        while self._waiting and self._server is not None:
            self._waiting.popleft()
            self._server.release()

    @property
    def wake_at(self) -> float | None:
        """When `handle_timer` wants to be called."""
        at = None
        if not self._is_over:
            wake = self.endpoint.wake_at
            if self._reads_slowly:
                wake = _earlier(wake, self.application.read_at)
            if wake is not None:
                at = (wake - self._offset) / self._speed + self._late
        if self._waiting:  # of one that is over, too: others at this host may wait for its turn
            at = _earlier(at, self._waiting[0][0])
        return at if self._leaves is None else _earlier(at, self._leaves.next_at)

    def _serve(self, now: float, local: float) -> list[NetworkEffect]:
        """Take the feedback that the server is through with."""
        assert self._server is not None
        effects: list[NetworkEffect] = []
        while self._waiting and self._waiting[0][0] <= now:
            _, datagram = self._waiting.popleft()
            self._server.release()
            self.served += 1
            if not self._is_over:
                effects += self.application.carry_out(self.endpoint.receive(datagram, now=local), local)
        return effects

    def _settled(self, effects: list[NetworkEffect], now: float, local: float) -> list[NetworkEffect]:
        if self._feeds:
            effects += self.application.feed(local)
        return effects if self._leaves is None else self._leaves.hold(effects, now)
