"""Which way packets take in a scenario's network."""

from collections.abc import Iterable, Mapping

from controller.paths import NOWHERE, Paths
from topologies.scenario.network import Link


def paths_from(links: Iterable[Link], source: str) -> Mapping[str, list[str]]:
    """The ways of a source's multicast packets to all other nodes, each with both ends; empty when it has no link. They
    are the controller's: each node's way towards the source, the other way round (`controller.trees.Trees`), so of ways
    that cost the same it is the one by the neighbour whose name comes first. A hop costs 1 ms beside its delay
    (`topologies.plan.network_description`)."""
    costs: dict[tuple[str, str], float] = {}
    for link in links:
        one, other = link.between
        costs[one, other] = 1e-3 + sum(link.direction(end).delay_s for end in link.between) / 2
    names = sorted({end for ends in costs for end in ends})
    numbers = {name: number for number, name in enumerate(names)}
    if source not in numbers:
        return {}
    edges = ((numbers[one], numbers[other], cost) for (one, other), cost in costs.items())
    towards = Paths(len(names), edges).towards(numbers[source])
    paths: dict[str, list[str]] = {}
    for name in names:
        way = [name]
        while (near := towards[numbers[way[-1]]]) != NOWHERE:
            way.append(names[near])
        if way[-1] == source:
            paths[name] = way[::-1]
    return paths
