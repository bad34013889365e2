"""Where a network's nodes stand in a picture: by a tree from one node, in columns or, when it is large, in rings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_LEAVES_IN_COLUMNS = 40
"""With more, names in one column would lie on each other (the bound is ours)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: `x` and `y` between 0 and 1, y upwards."""

    x: float
    y: float


def lay_out(nodes: Sequence[str], links: Sequence[tuple[str, str]], root: str | None) -> dict[str, Place]:
    """A place for each node. The tree of fewest hops from `root` decides (None: from the node with the most links);
    parts of the network that it does not reach come after it."""
    if not nodes:
        return {}
    import networkx  # takes 0.14 s, and many runs have no picture

    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(links)
    busiest = sorted(nodes, key=lambda node: -graph.degree[node])
    rank = {node: number for number, node in enumerate(nodes)}
    children: dict[str, list[str]] = {}
    depths: dict[str, int] = {}
    roots = []
    for start in ([] if root is None else [root]) + busiest:
        if start not in depths:
            roots.append(start)
            depths[start] = 0
            for parent, found in networkx.bfs_successors(graph, start):
                children[parent] = sorted(found, key=rank.__getitem__)
                depths.update((child, depths[parent] + 1) for child in found)
    slots, leaves = _slots(roots, children)
    if leaves <= MOST_LEAVES_IN_COLUMNS:
        return _columns(slots, leaves, depths)
    return _rings(slots, leaves, depths)


def _slots(roots: Sequence[str], children: Mapping[str, Sequence[str]]) -> tuple[dict[str, float], int]:
    """Leaves one after the other, other nodes in the middle of their children; and how many leaves there are."""
    slots: dict[str, float] = {}
    leaves = 0
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        node, seen = waiting.pop()
        below = children.get(node, ())
        if not below:
            slots[node] = float(leaves)
            leaves += 1
        elif seen:
            slots[node] = (slots[below[0]] + slots[below[-1]]) / 2
        else:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(below))
    return slots, leaves


def _columns(slots: Mapping[str, float], leaves: int, depths: Mapping[str, int]) -> dict[str, Place]:
    deepest = max(depths.values()) or 1
    return {node: Place(depths[node] / deepest, 1 - (slot + 0.5) / leaves) for node, slot in slots.items()}


def _rings(slots: Mapping[str, float], leaves: int, depths: Mapping[str, int]) -> dict[str, Place]:
    deepest = max(depths.values()) or 1
    places = {}
    for node, slot in slots.items():
        angle, radius = 2 * math.pi * (slot + 0.5) / leaves, 0.5 * depths[node] / deepest
        places[node] = Place(0.5 + radius * math.cos(angle), 0.5 + radius * math.sin(angle))
    return places
