"""A deterministic network in virtual time: any endpoints, on hosts with clocks of their own, joined by lossy links.

    network = Network(seed=1)
    network.link("sender", "router", rate_bps=100e6, delay_s=0.001)
    sender = network.host("sender", endpoint, source=data)
    network.run(60)

Time in seconds. Routing is by fewest hops; multicast follows it towards the members and is copied where paths part.
"""

import math
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby
from typing import Any, NamedTuple, cast

from hosts.endpoint import (
    Address,
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
from hosts.wire.header import CE, NOT_ECT

FRAME_BYTES = 14 + 20 + 8
"""Ethernet, IPv4 and UDP headers: what a link carries beside the datagram."""


@dataclass(frozen=True)
class Clock:
    """A host's clock: what it shows at true time t is offset + t (1 + drift)."""

    offset: float = 0.0
    drift: float = 0.0

    def local(self, time: float) -> float:
        return self.offset + time * (1 + self.drift)

    def true(self, local: float) -> float:
        return (local - self.offset) / (1 + self.drift)


class Link:
    """One direction: a DropTail queue, a rate, a delay; then loss, duplication and extra delay (reordering)."""

    def __init__(
        self,
        network: "Network",
        to: str,
        rate_bps: float,
        delay_s: float,
        limit_packets: int,
        loss: float,
        duplicate: float,
        jitter_s: float,
    ) -> None:
        self.network = network
        self.to = to
        self.rate_bps = rate_bps
        self.delay_s = delay_s
        self.limit_packets = limit_packets
        self.loss = loss
        self.duplicate = duplicate
        self.jitter_s = jitter_s
        self.hold_s = 0.0
        """Who sends into it takes up to so long before each packet: without that, who loses in a full queue depends on
        the phase of who comes (Floyd and Jacobson 1992)."""
        self._held_until = 0.0
        self.up = True
        self.queue: deque[float] = deque()  # departure times
        self.busy_until = 0.0
        self.sent = self.overflows = self.losses = 0
        self.sent_bytes = 0
        self.mark_packets: int | None = None
        """From so many in the queue on it marks what may be marked, instead of nothing."""
        self.lose: Callable[[Datagram], bool] | None = None
        """A test's own choice of what is lost."""

    def send(self, datagram: Datagram, held: bool = False) -> None:
        network = self.network
        now = network.now
        if self.hold_s and not held:
            self._held_until = max(self._held_until, now + network.rng.uniform(0, self.hold_s))
            network.at(self._held_until, self.send, datagram, True)
            return
        queue = self.queue
        while queue and queue[0] <= now:
            queue.popleft()
        if not self.up or len(queue) >= self.limit_packets:
            self.overflows += 1
            return
        if self.mark_packets is not None and len(queue) >= self.mark_packets and datagram.ecn != NOT_ECT:
            datagram = datagram._replace(ecn=CE)
        size = len(datagram.data) + FRAME_BYTES
        begins = self.busy_until
        ends = self.busy_until = (begins if begins > now else now) + size * 8 / self.rate_bps
        queue.append(ends)
        self.sent += 1
        self.sent_bytes += size
        rng = network.rng
        if (self.loss and rng.random() < self.loss) or (self.lose is not None and self.lose(datagram)):
            self.losses += 1
            return
        there = ends + self.delay_s
        if not self.duplicate and not self.jitter_s:
            network.order = order = network.order + 1  # as `at` does, which is called too often for a call
            heappush(network.events, (there, order, network.forward, (self.to, datagram)))
            return
        for _ in range(2 if self.duplicate and rng.random() < self.duplicate else 1):
            jitter = rng.uniform(0, self.jitter_s) if self.jitter_s else 0.0
            network.at(there + jitter, network.forward, self.to, datagram)


class Host:
    """An endpoint, its clock, and its application: a stream to send or what has been received."""

    def __init__(self, network: "Network", name: str, endpoint: Endpoint, clock: Clock, source: bytes) -> None:
        self.network = network
        self.name = name
        self.endpoint = endpoint
        self._is_sender = isinstance(endpoint, SenderEndpoint)
        self.clock = clock
        self._shows_true_time = clock == Clock()
        self.address = network.address(name)
        self.source = source
        self.written = 0
        self.endless = False
        self.received = bytearray()
        self.consume_bps: float | None = None
        """How fast the application reads; None: at once."""
        self._unread: deque[int] = deque()
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
                    self.apply(self.endpoint.confirm(complete=self.confirm_complete, now=self.now))
        if self._is_sender:
            self._feed()
        self._arm()

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


class _Way(NamedTuple):
    """Where what one node has from an address to another goes."""

    is_here: bool
    """To the node's own endpoint."""
    hops: int | None
    """Routers that it has passed then, of a unicast datagram."""
    links: tuple[Link, ...]


class Network:
    """Nodes are names; those that `host` named run an endpoint, the others forward."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.hosts: dict[str, Host] = {}
        self._links: dict[str, dict[str, Link]] = {}
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        """A heap of what is going to happen: when, what comes first of several, what, and its arguments."""
        self.order = 0
        self._members: dict[Address, set[str]] = {}
        self._addresses: dict[str, Address] = {}
        self._names: dict[Address, str] = {}
        self._next_hops: dict[str, dict[str, str]] = {}
        self._ways: dict[tuple[str, Address, Address], _Way] = {}
        """By node, source and destination."""
        self.tap: Callable[[str, Datagram], None] | None = None
        """Called with (node, datagram) for each arrival at a node."""

    # --- building

    def link(
        self,
        a: str,
        b: str,
        *,
        rate_bps: float = 100e6,
        delay_s: float = 0.001,
        limit_packets: int = 64,
        loss: float = 0.0,
        back_loss: float = 0.0,
        duplicate: float = 0.0,
        jitter_s: float = 0.0,
    ) -> tuple[Link, Link]:
        """A link; `loss`, `duplicate` and `jitter_s` are those from a to b, `back_loss` is from b to a."""
        there = Link(self, b, rate_bps, delay_s, limit_packets, loss, duplicate, jitter_s)
        back = Link(self, a, rate_bps, delay_s, limit_packets, back_loss, 0.0, 0.0)
        self._links.setdefault(a, {})[b] = there
        self._links.setdefault(b, {})[a] = back
        self._next_hops.clear()
        self._ways.clear()
        return there, back

    def host(self, name: str, endpoint: Endpoint, *, clock: Clock = Clock(), source: bytes = b"") -> Host:
        """Run an endpoint on a node."""
        host = Host(self, name, endpoint, clock, source)
        self.hosts[name] = host
        return host

    def address(self, name: str) -> Address:
        """A node's unicast address."""
        if name not in self._addresses:
            number = len(self._addresses) + 1
            address = Address(f"10.0.{number >> 8}.{number & 255}", 40000 + number)
            self._addresses[name] = address
            self._names[address] = name
        return self._addresses[name]

    # --- running

    def at(self, time: float, action: Callable[..., None], *args: Any) -> None:
        """Do something at a time."""
        self.order += 1
        heappush(self.events, (time, self.order, action, args))

    def run(self, until: float) -> None:
        """Advance virtual time, or stop when nothing is left to happen or every endpoint has ended."""
        if self.now == 0.0:
            for host in list(self.hosts.values()):
                host.start()
        events = self.events
        while events and events[0][0] <= until:
            self.now, _, action, args = heappop(events)
            action(*args)
        self.now = until

    def run_until_ended(self, limit: float) -> None:
        """Run until every endpoint that lives has ended, at most until `limit`."""
        step = 0.25
        while self.now < limit and any(host.alive and not host.endpoint.closed for host in self.hosts.values()):
            self.run(min(limit, self.now + step))

    # --- forwarding

    def join(self, group: Address, name: str) -> None:
        self._members.setdefault(group, set()).add(name)
        self._ways.clear()

    def is_member(self, group: Address, name: str) -> bool:
        """Whether what comes for the group is the node's, too."""
        return name in self._members.get(group, ())

    def leave(self, group: Address, name: str) -> None:
        self._members.get(group, set()).discard(name)
        self._ways.clear()

    def forward(self, node: str, datagram: Datagram) -> None:
        """A datagram is at a node: for its endpoint, or for the links beyond."""
        if self.tap is not None:
            self.tap(node, datagram)
        data, source, destination, arrived_at, _, ecn = datagram
        way = self._ways.get((node, source, destination)) or self._find_way(node, source, destination)
        if way.is_here:
            if way.hops is not None:
                datagram = Datagram(data, source, destination, arrived_at, way.hops, ecn)
            self.hosts[node].receive(datagram)
            if way.links:  # it may have left, or others
                way = self._find_way(node, source, destination)
        for link in way.links:
            link.send(datagram)

    def _find_way(self, node: str, source: Address, destination: Address) -> _Way:
        target = self._names.get(destination)
        if target is None:
            origin = self._names[source]
            here = node != origin and self.is_member(destination, node)
            way = _Way(here, None, self._multicast_branches(node, origin, destination))
        elif target == node:
            way = _Way(True, self._routers_between(source, node), ())
        else:
            way = _Way(False, None, (self._links[node][self._next_hop(node, target)],))
        self._ways[node, source, destination] = way
        return way

    def _routers_between(self, source: Address, node: str) -> int:
        """What a datagram's time to live is counted down by."""
        at, count = self._names[source], 0
        while at != node and (at := self._next_hop(at, node)) != node:
            count += 1
        return count

    def _next_hop(self, node: str, target: str) -> str:
        if target not in self._next_hops:
            hops: dict[str, str] = {}
            seen = {target}
            frontier = deque([target])
            while frontier:
                at = frontier.popleft()
                for neighbour in self._links.get(at, {}):
                    if neighbour not in seen:
                        seen.add(neighbour)
                        hops[neighbour] = at
                        frontier.append(neighbour)
            self._next_hops[target] = hops
        return self._next_hops[target][node]

    def _multicast_branches(self, node: str, origin: str, group: Address) -> tuple[Link, ...]:
        hops: dict[str, Link] = {}  # in order
        for member in sorted(self._members.get(group, ())):
            at = origin
            while at not in (node, member):
                at = self._next_hop(at, member)
            if at == node and node != member:
                hop = self._next_hop(node, member)
                hops[hop] = self._links[node][hop]
        return tuple(hops.values())
