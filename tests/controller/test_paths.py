from __future__ import annotations

import itertools
import math
import random

import pytest

from controller.paths import NOWHERE, Paths

SEEDS = range(40)


def random_costs(rng: random.Random, nodes: int) -> dict[tuple[int, int], float]:
    """Edges with many ties among their costs."""
    pairs = itertools.combinations(range(nodes), 2)
    return {pair: float(rng.randint(1, 3)) for pair in pairs if rng.random() < 0.4}


def next_nodes(nodes: int, costs: dict[tuple[int, int], float], target: int) -> list[int]:
    """By the definition: distances by relaxing all edges, and of the cheapest ways the one by the lowest neighbour."""
    near: list[list[tuple[int, float]]] = [[] for _ in range(nodes)]
    for (one, other), cost in costs.items():
        near[one].append((other, cost))
        near[other].append((one, cost))
    distances = [math.inf] * nodes
    distances[target] = 0.0
    for _ in range(nodes):
        for node in range(nodes):
            distances[node] = min([distances[node], *(distances[other] + cost for other, cost in near[node])])
    found = []
    for node in range(nodes):
        _, taken = min(((distances[other] + cost, other) for other, cost in near[node]), default=(0.0, NOWHERE))
        reached = node != target and math.isfinite(distances[node])
        found.append(taken if reached else NOWHERE)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_paths_after_changes_are_those_of_the_graph_as_it_is(seed: int) -> None:
    rng = random.Random(seed)
    nodes = rng.randint(2, 9)
    costs = random_costs(rng, nodes)
    paths = Paths(nodes, [(*pair, cost) for pair, cost in costs.items()])
    asked = rng.sample(range(nodes), k=rng.randint(1, nodes))
    before = {target: list(paths.towards(target)) for target in asked}
    for _ in range(30):
        one, other = sorted(rng.sample(range(nodes), k=2))
        pair = one, other
        cost = rng.choice([math.inf, 1.0, 2.0, 3.0])
        costs.pop(pair, None)
        if math.isfinite(cost):
            costs[pair] = cost
        changed = paths.set_cost(one, other, cost) if rng.random() < 0.5 else paths.set_cost(other, one, cost)
        now = {target: next_nodes(nodes, costs, target) for target in asked}
        assert {target: list(paths.towards(target)) for target in asked} == now
        differing = {node for target in asked for node in range(nodes) if now[target][node] != before[target][node]}
        assert changed == differing
        before = now


def test_what_nobody_asked_for_is_not_computed() -> None:
    paths = Paths(3, [(0, 1, 1.0), (1, 2, 1.0)])
    assert paths.set_cost(0, 1, math.inf) == set()
    assert list(paths.towards(0)) == [NOWHERE, NOWHERE, NOWHERE]
    assert paths.set_cost(0, 2, 5.0) == {1, 2}
    assert list(paths.towards(0)) == [NOWHERE, 2, 0]
