"""Which way packets take in a scenario's network."""

from collections.abc import Iterable, Mapping

import networkx

from topologies.scenario.network import Link


def paths_from(links: Iterable[Link], source: str) -> Mapping[str, list[str]]:
    """The ways of least delay from a node to all others, each with both ends; empty when it has no link. A hop costs
    1 ms beside its delay, as for the controller (`topologies.plan.network_description`)."""
    graph: networkx.Graph[str] = networkx.Graph()
    for link in links:
        delay = sum(link.direction(end).delay_s for end in link.between) / 2
        graph.add_edge(*link.between, cost=1e-3 + delay)
    if source not in graph:
        return {}
    paths: dict[str, list[str]] = networkx.single_source_dijkstra_path(graph, source, weight="cost")
    return paths
