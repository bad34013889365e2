"""Shortest paths towards single switches, kept while links go down and come up.

A fat tree of 1,280 switches has some twenty million (target, link) pairs, of which a link's failure concerns a few
thousand. So a target's paths are computed when they are first asked for, and after that only those that a change can
have changed.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Iterable

NOWHERE = -1
"""In place of a neighbour: the target itself, or a node that does not reach it."""


class Paths:
    """Shortest paths in an undirected graph of nodes 0 to `nodes` - 1, whose edges have positive costs. Of two ways
    that cost the same the one over the neighbour of the lower number is taken, whatever happened before."""

    def __init__(self, nodes: int, edges: Iterable[tuple[int, int, float]]) -> None:
        """`edges`: (one, other, cost), each pair once."""
        self._near: list[dict[int, float]] = [{} for _ in range(nodes)]
        for one, other, cost in edges:
            self._near[one][other] = self._near[other][one] = cost
        self._distances: dict[int, array[float]] = {}
        self._next: dict[int, array[int]] = {}

    def neighbours(self, node: int) -> Iterable[int]:
        """The nodes at the other ends of a node's edges."""
        return self._near[node]

    def towards(self, target: int) -> array[int]:
        """For each node the neighbour that it takes towards `target`, or NOWHERE. Not to be changed, and valid until
        the next `set_cost`."""
        found = self._next.get(target)
        return self._compute(target) if found is None else found

    def set_cost(self, one: int, other: int, cost: float) -> set[int]:
        """An edge is there, or costs something else; infinite: it is gone. Returns the nodes that take another
        neighbour than before towards one of the targets that were asked for."""
        before = self._near[one].get(other, math.inf)
        if math.isinf(cost):
            self._near[one].pop(other, None)
            self._near[other].pop(one, None)
        else:
            self._near[one][other] = self._near[other][one] = cost
        changed: set[int] = set()
        for target in self._next:
            for near, far in ((one, other), (other, one)):
                if not (
                    self._dearer(target, near, far, changed)
                    if cost > before
                    else self._cheaper(target, near, far, cost, changed)
                ):
                    old = self._next[target]
                    changed.update(
                        node for node, (a, b) in enumerate(zip(old, self._compute(target), strict=True)) if a != b
                    )
                    break
        return changed

    def _dearer(self, target: int, near: int, far: int, changed: set[int]) -> bool:
        """The edge from `far` to `near` costs more now, or is gone. False when that makes `far`'s way longer."""
        if self._next[target][far] != near:
            return True
        distances = self._distances[target]
        ways = ((distances[node] + cost, node) for node, cost in self._near[far].items())
        distance, node = min(ways, default=(math.inf, NOWHERE))
        if distance != distances[far]:
            return False
        if node != near:
            self._next[target][far] = node
            changed.add(far)
        return True

    def _cheaper(self, target: int, near: int, far: int, cost: float, changed: set[int]) -> bool:
        """The edge from `far` to `near` costs less now, or is new. False when that makes `far`'s way shorter."""
        distances, taken = self._distances[target], self._next[target]
        distance = distances[near] + cost
        if distance < distances[far]:
            return False
        if distance == distances[far] and near < taken[far]:
            taken[far] = near
            changed.add(far)
        return True

    def _compute(self, target: int) -> array[int]:
        """Dijkstra's algorithm."""
        near = self._near
        distances, taken = [math.inf] * len(near), [NOWHERE] * len(near)
        distances[target] = 0.0
        waiting = [(0.0, target)]
        while waiting:
            distance, node = heapq.heappop(waiting)
            if distance > distances[node]:
                continue
            for other, cost in near[node].items():
                longer = distance + cost
                if longer < distances[other]:
                    distances[other], taken[other] = longer, node
                    heapq.heappush(waiting, (longer, other))
                elif longer == distances[other] and node < taken[other]:
                    taken[other] = node
        self._distances[target] = array("d", distances)
        self._next[target] = array("i", taken)
        return self._next[target]
