"""A deterministic network in virtual time: any endpoints, on hosts with clocks of their own, joined by lossy links.

    network = Network(seed=1)
    network.link("sender", "router", rate_bps=100e6, delay_s=0.001)
    sender = network.host("sender", endpoint, source=data)
    network.run(60)

Time in seconds. Routing is by fewest hops; multicast follows it towards the members and is copied where paths part.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop
from typing import NamedTuple

from hosts.endpoint import Address, Datagram, Endpoint
from tests.hosts.host import TRUE_TIME, Clock, Host
from tests.hosts.link import Link
from tests.hosts.surroundings import Surroundings


class _Way(NamedTuple):
    """Where what one node has from an address to another goes."""

    is_here: bool
    """To the node's own endpoint."""
    hops: int | None
    """Routers that it has passed then, of a unicast datagram."""
    links: tuple[Link, ...]


class Network(Surroundings):
    """Nodes are names; those that `host` named run an endpoint, the others forward."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.hosts: dict[str, Host] = {}
        self._links: dict[str, dict[str, Link]] = {}
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

    def host(self, name: str, endpoint: Endpoint, *, clock: Clock = TRUE_TIME, source: bytes = b"") -> Host:
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
