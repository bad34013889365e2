"""Paths through the network: unicast routes, trees towards each source, one spanning tree for any-source groups.

Every answer follows from the network and the set of links that are down, with ties broken by name, so that a controller
that restarts comes to the same answers and rewrites nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

import networkx as nx

from controller.network import SOURCE_SPECIFIC, LinkSpec, Network

Attachment = tuple[str, int]  # (switch, port)


@dataclass(frozen=True, order=True)
class Route:
    """How a switch reaches one host: out of `port`, to the neighbour's `mac`."""

    host: IPv4Address
    port: int
    mac: str


class Trees:
    """Routes and trees of a network in its present state. Not thread-safe."""

    def __init__(self, network: Network, down: Iterable[str] = ()) -> None:
        self._network = network
        self._links = {link.name: link for link in network.links}
        self._down: set[str] = set()
        for name in down:
            self._down.add(self.find_link(name).name)
        self._compute()

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

    def set_link(self, name: str, *, up: bool) -> bool:
        """Mark a link up or down and compute everything anew. False when it was so already."""
        link = self.find_link(name).name
        if up == (link not in self._down):
            return False
        (self._down.discard if up else self._down.add)(link)
        self._compute()
        return True

    def routes(self, switch: str) -> list[Route]:
        """Routes of `switch` to every host that it can reach, in the order of their addresses."""
        found = []
        for host in self._network.hosts:
            if host.switch == switch:
                found.append(Route(host.ip, host.port, host.mac))
            elif (link := self._next_links[host.switch].get(switch)) is not None:
                found.append(Route(host.ip, link.port_of(switch), self._network.switch_by_name[link.other(switch)].mac))
        return sorted(found)

    def upstream(self, switch: str, source: IPv4Address, *, shared: bool = False) -> int | None:
        """The port of `switch` towards `source`, by the shortest path or within the spanning tree (`shared`); None when
        the source hangs on `switch` itself, is unknown or is cut off. The upstream ports of all switches are the
        source's tree."""
        host = self._network.host_by_ip.get(source)
        if host is None or host.switch == switch:
            return None
        link = (self._shared_links if shared else self._next_links)[host.switch].get(switch)
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
        hosts = self._network.host_by_ip.values() if source is None else [self._network.host_by_ip.get(source)]
        own = {host.port for host in hosts if host is not None and host.switch == switch}
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

    def _compute(self) -> None:
        graph = self._graph()
        tree = _spanning_tree(graph)
        self._next_links = {target: _links_towards(graph, target) for target in graph}
        self._shared_links = {target: _links_towards(tree, target) for target in tree}
        self._shared = {
            switch: frozenset(edge["link"].port_of(switch) for edge in tree[switch].values()) for switch in tree
        }

    def _graph(self) -> nx.Graph[str]:
        """The switches, and between two of them the best of the links that are up."""
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(sorted(self._network.switch_by_name))
        for link in sorted(self._links.values(), key=_preference, reverse=True):
            if link.name not in self._down:
                graph.add_edge(link.a, link.b, link=link, cost=link.cost)
        return graph


def _preference(link: LinkSpec) -> tuple[float, str]:
    """Among links that would do, the cheapest one and then the first by name is taken."""
    return link.cost, link.name


def _links_towards(graph: nx.Graph[str], target: str) -> dict[str, LinkSpec]:
    """For each switch that reaches `target`, the link that it takes first on the way there."""
    distances: dict[str, float] = nx.single_source_dijkstra_path_length(graph, target, weight="cost")
    taken: dict[str, LinkSpec] = {}
    for switch in distances:
        if switch != target:
            # The cost of every link is positive, so each step comes closer and no loop can form.
            _, _, link = min(
                (distances[near] + edge["cost"], near, edge["link"]) for near, edge in graph[switch].items()
            )
            taken[switch] = link
    return taken


def _spanning_tree(graph: nx.Graph[str]) -> nx.Graph[str]:
    """The cheapest spanning tree (forest, when the network is cut)."""
    edges = sorted((edge["link"] for _, _, edge in graph.edges(data=True)), key=_preference)
    ranked: nx.Graph[str] = nx.Graph()
    ranked.add_nodes_from(graph)
    for rank, link in enumerate(edges):  # ranks differ, so there is one cheapest tree only
        ranked.add_edge(link.a, link.b, link=link, cost=link.cost, rank=rank)
    return nx.minimum_spanning_tree(ranked, weight="rank")
