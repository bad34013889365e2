"""Random topologies of transit and stub domains, as GT-ITM makes them (Zegura, Calvert and Bhattacharjee 1996).

A transit domain is a random connected graph. At each of its nodes hang stub domains, again random connected graphs,
each by one link between a random node of its own and the transit node."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import networkx

LinkKind: TypeAlias = Literal["transit", "transit-stub", "stub"]

Graph: TypeAlias = "networkx.Graph[int]"


@dataclass(frozen=True, slots=True)
class Shape:
    """How large, and how dense. The default is the 100-node graph of GT-ITM's own examples: 4 (1 + 3 x 8)."""

    transit_nodes: int = 4
    stubs_a_node: int = 3
    nodes_a_stub: int = 8
    transit_edges: float = 0.6
    """Probability of an edge between two nodes of the transit domain."""
    stub_edges: float = 0.42


@dataclass(frozen=True, slots=True)
class Stub:
    """One stub domain."""

    transit: int
    """The transit node that it hangs on."""
    gateway: int
    """Its own node there."""
    nodes: Sequence[int]


@dataclass(frozen=True, slots=True)
class TransitStub:
    """A topology. Nodes are numbered from 0, the transit domain's first; an edge's `kind` is a LinkKind."""

    graph: Graph
    transit: Sequence[int]
    stubs: Sequence[Stub]

    def domain(self, stub: Stub) -> Graph:
        """The part of the graph that is this stub domain."""
        part: Graph = self.graph.subgraph(stub.nodes)
        return part


def transit_stub(shape: Shape, seed: int) -> TransitStub:
    """A topology; the same seed gives the same one."""
    rng = random.Random(seed)
    graph: Graph = networkx.Graph()
    transit = list(range(shape.transit_nodes))
    _connect(graph, transit, shape.transit_edges, "transit", rng)
    stubs = []
    for node in transit:
        for _ in range(shape.stubs_a_node):
            first = graph.number_of_nodes()
            members = list(range(first, first + shape.nodes_a_stub))
            _connect(graph, members, shape.stub_edges, "stub", rng)
            gateway = rng.choice(members)
            graph.add_edge(node, gateway, kind="transit-stub")
            stubs.append(Stub(node, gateway, members))
    return TransitStub(graph, transit, stubs)


def _connect(graph: Graph, nodes: Sequence[int], probability: float, kind: LinkKind, rng: random.Random) -> None:
    """Edges among nodes, each with this probability; drawn again until all are connected, as GT-ITM does."""
    graph.add_nodes_from(nodes)
    while True:
        edges = [pair for pair in itertools.combinations(nodes, 2) if rng.random() < probability]
        drawn: Graph = networkx.Graph(edges)
        drawn.add_nodes_from(nodes)
        if networkx.is_connected(drawn):
            graph.add_edges_from(edges, kind=kind)
            return
