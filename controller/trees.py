"""Paths through the network: unicast routes, trees towards each source, one spanning tree for any-source groups.

Every answer follows from the network and the set of links that are down, with ties broken by name, so that a controller
that restarts comes to the same answers and rewrites nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network

from controller.network import SOURCE_SPECIFIC, HostSpec, LinkSpec, Network
from controller.paths import NOWHERE, Paths
from controller.prefixes import BITS, merged

Attachment = tuple[str, int]  # (switch, port)


@dataclass(frozen=True)
class Route:
    """How a switch reaches a host, or several with a common prefix: out of `port`, to the neighbour's `mac`."""

    destination: IPv4Network
    port: int
    mac: str


@dataclass(frozen=True)
class Moved:
    """What a link's change has moved: the switches with other routes or source-specific upstream ports, and whether the
    spanning tree of any-source groups is another one."""

    switches: frozenset[str]
    spanning_tree: bool


class Trees:
    """Routes and trees of a network in its present state. Not thread-safe."""

    def __init__(self, network: Network, down: Iterable[str] = ()) -> None:
        self._network = network
        self._links = {link.name: link for link in network.links}
        self._down: set[str] = set()
        for name in down:
            self._down.add(self.find_link(name).name)
        self._names = sorted(network.switch_by_name)  # a switch's place here is its number: ties go to the lower one
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._hosts_at: dict[str, list[HostSpec]] = {name: [] for name in self._names}
        for host in network.hosts:
            self._hosts_at[host.switch].append(host)
        self._sites = [(name, number) for name, number in self._numbers.items() if self._hosts_at[name]]
        self._blocks = list(self._host_blocks())
        self._between: dict[tuple[int, int], list[LinkSpec]] = {}
        for link in sorted(network.links, key=_preference):
            self._between.setdefault(self._pair(link), []).append(link)
        best = {pair: self._best_of(links) for pair, links in self._between.items()}
        self._best = {pair: link for pair, link in best.items() if link is not None}
        self._paths = Paths(len(self._names), ((*pair, link.cost) for pair, link in self._best.items()))
        self._routes: dict[str, tuple[Route, ...]] = {}
        self._span()

    @property
    def down(self) -> frozenset[str]:
        """Names of the links that are down."""
        return frozenset(self._down)

    def find_link(self, name: str) -> LinkSpec:
        """A link by its name, by its name from the other end, or by its two switches when only one link joins them.
        Raises KeyError with a message for the operator."""
        if name in self._links:
            return self._links[name]
        first, _, second = name.partition("-")
        swapped = f"{second}-{first}"
        if swapped in self._links:
            return self._links[swapped]
        matching = [link for link in self._links.values() if f"{link.a}-{link.b}" in (name, swapped)]
        if len(matching) == 1:
            return matching[0]
        problem = "several links are" if matching else "no link is"
        raise KeyError(f"{problem} called {name}; links: {', '.join(self._links) or 'none'}")

    def set_link(self, name: str, *, up: bool) -> Moved | None:
        """Mark a link up or down, and compute anew what that changes. None when it was so already."""
        link = self.find_link(name)
        if up == (link.name not in self._down):
            return None
        (self._down.discard if up else self._down.add)(link.name)
        pair = self._pair(link)
        best, before = self._best_of(self._between[pair]), self._best.pop(pair, None)
        if best is not None:
            self._best[pair] = best
        if best == before:
            return Moved(frozenset(), False)
        changed = self._paths.set_cost(*pair, math.inf if best is None else best.cost)
        switches = {link.a, link.b} | {self._names[number] for number in changed}
        for switch in switches:
            self._routes.pop(switch, None)
        shared = self._shared
        self._span()
        return Moved(frozenset(switches), self._shared != shared)

    def routes(self, switch: str) -> tuple[Route, ...]:
        """Routes of `switch` to every host that it can reach, in the order of their addresses."""
        found = self._routes.get(switch)
        if found is None:
            found = self._routes[switch] = tuple(self._find_routes(switch))
        return found

    def upstream(self, switch: str, source: IPv4Address, *, shared: bool = False) -> int | None:
        """The port of `switch` towards `source`, by the shortest path or within the spanning tree (`shared`); None when
        the source hangs on `switch` itself, is unknown or is cut off. The upstream ports of all switches are the
        source's tree."""
        host = self._network.host_by_ip.get(source)
        if host is None or host.switch == switch:
            return None
        if shared:
            return self._shared_towards(host.switch).get(switch)
        link = self._next_link(switch, host.switch)
        return None if link is None else link.port_of(switch)

    def shared_ports(self, switch: str) -> frozenset[int]:
        """The ports of `switch` that belong to the spanning tree of any-source groups."""
        return self._shared[switch]

    def upstream_ports(self, switch: str, source: IPv4Address | None, group: IPv4Address) -> frozenset[int]:
        """Ports that a join of (source, group) goes up by: one or none for a source, those of the spanning tree for any
        source (None). Outside 232.0.0.0/8 a source's tree is a part of the spanning tree, because there the same group
        may have any-source members, and a switch takes a source's data from one side only."""
        if source is None:
            return self.shared_ports(switch)
        port = self.upstream(switch, source, shared=group not in SOURCE_SPECIFIC)
        return frozenset() if port is None else frozenset({port})

    def accept_ports(self, switch: str, source: IPv4Address | None, group: IPv4Address) -> frozenset[int]:
        """Ports that data of (source, group) is taken from: the upstream ports, and those of the hosts that may be the
        source."""
        own = {host.port for host in self._hosts_at[switch] if source is None or host.ip == source}
        return self.upstream_ports(switch, source, group) | own

    def peer(self, switch: str, port: int) -> Attachment | None:
        """The far end of the link on a port, (switch, port); None for a host's port."""
        link = self._network.link_by_port.get((switch, port))
        if link is None:
            return None
        far = link.other(switch)
        return far, link.port_of(far)

    def memberships(
        self, source: IPv4Address | None, group: IPv4Address, hosts: Iterable[Attachment]
    ) -> set[Attachment]:
        """All switch ports that must be members of a group's tree for the host ports in `hosts` to be served: those
        ports and the ports on the way from each of them to the source (to every other switch for any source)."""
        members = set(hosts)
        waiting = sorted(members)
        while waiting:
            switch, port = waiting.pop()
            for up in self.upstream_ports(switch, source, group) - {port}:
                far = self.peer(switch, up)
                if far is not None and far not in members:
                    members.add(far)
                    waiting.append(far)
        return members

    # ---------------------------------------------------------------- within

    def _pair(self, link: LinkSpec) -> tuple[int, int]:
        one, other = self._numbers[link.a], self._numbers[link.b]
        return min(one, other), max(one, other)

    def _best_of(self, links: Iterable[LinkSpec]) -> LinkSpec | None:
        """Of the links between two switches, the first one that is up."""
        return next((link for link in links if link.name not in self._down), None)

    def _next_link(self, switch: str, target: str) -> LinkSpec | None:
        """The link that `switch` takes towards another one; None when it does not reach it."""
        here = self._numbers[switch]
        near = self._paths.towards(self._numbers[target])[here]
        return None if near == NOWHERE else self._best[min(here, near), max(here, near)]

    def _host_blocks(self) -> Iterator[tuple[int, int, str]]:
        """The hosts' addresses as prefixes (first, length, switch): what is at one switch goes one way elsewhere."""
        hosts = sorted((int(host.ip), host.switch) for host in self._network.hosts)
        return merged((address, BITS, switch) for address, switch in hosts)

    def _find_routes(self, switch: str) -> Iterator[Route]:
        here = self._numbers[switch]
        through: dict[int, tuple[int, str]] = {}  # neighbour -> the way by it
        for near in self._paths.neighbours(here):
            link = self._best[min(here, near), max(here, near)]
            through[near] = link.port_of(switch), self._network.switch_by_name[self._names[near]].mac
        ways = {
            target: through.get(self._paths.towards(number)[here]) for target, number in self._sites if number != here
        }
        found = [
            (first, length, way) for first, length, target in self._blocks if (way := ways.get(target)) is not None
        ]
        found += [(int(host.ip), BITS, (host.port, host.mac)) for host in self._hosts_at[switch]]
        for first, length, (port, mac) in merged(sorted(found)):
            yield _route(first, length, port, mac)

    def _span(self) -> None:
        """The cheapest spanning tree (a forest, when the network is cut), by Kruskal's algorithm."""
        parts = list(range(len(self._names)))  # of each switch, another one of its part, in the end the same for all

        def part(number: int) -> int:
            while parts[number] != number:
                parts[number] = number = parts[parts[number]]
            return number

        self._tree: dict[str, dict[str, LinkSpec]] = {name: {} for name in self._names}
        for link in sorted(self._best.values(), key=_preference):
            one, other = part(self._numbers[link.a]), part(self._numbers[link.b])
            if one != other:
                parts[one] = other
                self._tree[link.a][link.b] = self._tree[link.b][link.a] = link
        self._shared = {
            switch: frozenset(link.port_of(switch) for link in near.values()) for switch, near in self._tree.items()
        }
        self._towards_shared: dict[str, dict[str, int]] = {}

    def _shared_towards(self, target: str) -> dict[str, int]:
        """The ports of all other switches towards `target` within the spanning tree."""
        found = self._towards_shared.get(target)
        if found is None:
            found, waiting = {}, [target]
            while waiting:
                here = waiting.pop()
                for near, link in self._tree[here].items():
                    if near != target and near not in found:
                        found[near] = link.port_of(near)
                        waiting.append(near)
            self._towards_shared[target] = found
        return found


@lru_cache(maxsize=1 << 16)
def _route(first: int, length: int, port: int, mac: str) -> Route:
    return Route(IPv4Network((first, length)), port, mac)


def _preference(link: LinkSpec) -> tuple[float, str]:
    """Among links that would do, the cheapest one and then the first by name is taken."""
    return link.cost, link.name
