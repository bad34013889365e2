from __future__ import annotations

import itertools
import random
from ipaddress import IPv4Address, IPv4Network

import networkx as nx
import pytest

from controller.network import Network
from controller.trees import Trees
from tests.controller import networks

SEEDS = range(40)
SSM = IPv4Address("232.1.2.3")
ASM = IPv4Address("239.1.2.3")


def follow(network: Network, trees: Trees, start: str, target: IPv4Address) -> list[str] | None:
    """The switches that a unicast packet passes on its way, by each switch's own route."""
    here, path = start, [start]
    for _ in range(len(network.switches) + 1):
        matching = [route for route in trees.routes(here) if target in route.destination]
        if not matching:
            return None
        (route,) = matching  # no two routes have an address in common
        far = trees.peer(here, route.port)
        if far is None:
            return path
        here = far[0]
        path.append(here)
    raise AssertionError(f"a loop: {path}")


def cost(network: Network, path: list[str]) -> float:
    return sum(
        min(link.cost for link in network.links if {link.a, link.b} == {a, b}) for a, b in itertools.pairwise(path)
    )


def all_distances(network: Network, down: frozenset[str] = frozenset()) -> dict[str, dict[str, float]]:
    """Shortest distances by brute force (Floyd and Warshall)."""
    names = [switch.name for switch in network.switches]
    inf = float("inf")
    d = {a: {b: 0.0 if a == b else inf for b in names} for a in names}
    for link in network.links:
        if link.name not in down:
            d[link.a][link.b] = d[link.b][link.a] = min(d[link.a][link.b], link.cost)
    for k, i, j in itertools.product(names, names, names):
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])
    return d


@pytest.mark.parametrize("seed", SEEDS)
def test_routes_are_shortest_paths(seed: int) -> None:
    network = networks.random_network(seed)
    trees = Trees(network)
    distances = all_distances(network)
    for switch, host in itertools.product(network.switches, network.hosts):
        path = follow(network, trees, switch.name, host.ip)
        if path is None:
            assert distances[switch.name][host.switch] == float("inf")
        else:
            assert path[-1] == host.switch
            assert cost(network, path) == distances[switch.name][host.switch]


@pytest.mark.parametrize("seed", SEEDS)
def test_routes_are_to_the_hosts_and_to_no_other_address(seed: int) -> None:
    network = networks.random_network(seed)
    trees = Trees(network)
    hosts = {host.ip for host in network.hosts}
    for switch in network.switches:
        assert {address for route in trees.routes(switch.name) for address in route.destination} <= hosts
        own = {IPv4Network(host.ip) for host in network.hosts if host.switch == switch.name}
        assert own <= {route.destination for route in trees.routes(switch.name)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_links_change_says_which_switches_have_other_routes(seed: int) -> None:
    network = networks.random_network(seed)
    trees = Trees(network)
    rng = random.Random(seed)
    down: set[str] = set()
    for _ in range(8 if network.links else 0):
        link = rng.choice(network.links).name
        before = {
            switch.name: (trees.routes(switch.name), trees.shared_ports(switch.name)) for switch in network.switches
        }
        down ^= {link}
        moved = trees.set_link(link, up=link not in down)
        assert moved is not None
        anew = Trees(network, down)
        for name, (routes, shared) in before.items():
            assert trees.routes(name) == anew.routes(name)
            assert trees.shared_ports(name) == anew.shared_ports(name)
            assert name in moved.switches or trees.routes(name) == routes
            assert moved.spanning_tree or trees.shared_ports(name) == shared
            for host in network.hosts:
                assert trees.upstream_ports(name, host.ip, ASM) == anew.upstream_ports(name, host.ip, ASM)


@pytest.mark.parametrize("seed", SEEDS)
def test_upstream_ports_are_the_tree_of_the_source(seed: int) -> None:
    network = networks.random_network(seed)
    trees = Trees(network)
    for host in network.hosts:
        for switch in network.switches:
            up = trees.upstream(switch.name, host.ip)
            routes = {address: route.port for route in trees.routes(switch.name) for address in route.destination}
            expected = None if switch.name == host.switch else routes.get(host.ip)
            assert up == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_shared_ports_are_a_cheapest_spanning_tree(seed: int) -> None:
    network = networks.random_network(seed)
    trees = Trees(network)
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from(switch.name for switch in network.switches)
    for link in sorted(network.links, key=lambda link: -link.cost):
        graph.add_edge(link.a, link.b, weight=link.cost)
    chosen: nx.Graph[str] = nx.Graph()
    chosen.add_nodes_from(graph)
    for switch in network.switches:
        for port in trees.shared_ports(switch.name):
            far = trees.peer(switch.name, port)
            assert far is not None
            assert far[1] in trees.shared_ports(far[0])
            link = network.link_by_port[switch.name, port]
            chosen.add_edge(link.a, link.b, weight=link.cost)
    assert nx.is_forest(chosen)
    assert nx.number_connected_components(chosen) == nx.number_connected_components(graph)
    assert chosen.size(weight="weight") == nx.minimum_spanning_tree(graph).size(weight="weight")


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_do_not_depend_on_the_order_of_the_description(seed: int) -> None:
    network = networks.random_network(seed)
    shuffled = network.model_dump(mode="json")
    for part in ("switches", "hosts", "links"):
        random.Random(seed).shuffle(shuffled[part])
    one, other = Trees(network), Trees(Network.model_validate(shuffled))
    for switch in network.switches:
        assert one.routes(switch.name) == other.routes(switch.name)
        assert one.shared_ports(switch.name) == other.shared_ports(switch.name)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_link_that_comes_back_brings_the_old_trees_back(seed: int) -> None:
    network = networks.random_network(seed)
    trees, untouched = Trees(network), Trees(network)
    rng = random.Random(seed)
    for link in rng.sample(network.links, k=min(3, len(network.links))):
        assert trees.set_link(link.name, up=False)
        assert not trees.set_link(link.name, up=False)
    distances = all_distances(network, trees.down)
    for switch, host in itertools.product(network.switches, network.hosts):
        path = follow(network, trees, switch.name, host.ip)
        assert (path is None) == (distances[switch.name][host.switch] == float("inf"))
    assert Trees(network, down=trees.down).routes("s1") == trees.routes("s1")
    for name in trees.down:
        assert trees.set_link(name, up=True)
    for switch in network.switches:
        assert trees.routes(switch.name) == untouched.routes(switch.name)
        assert trees.shared_ports(switch.name) == untouched.shared_ports(switch.name)


@pytest.mark.parametrize("seed", SEEDS)
def test_memberships_are_exactly_the_ports_that_serve_the_hosts(seed: int) -> None:
    """Brute force: a port of a tree link is needed iff the link, taken away, parts the source from a member host."""
    network = networks.random_network(seed)
    trees = Trees(network)
    rng = random.Random(seed)
    member_hosts = rng.sample(network.hosts, k=rng.randint(1, len(network.hosts)))
    trees_of = [(host.ip, group) for host in network.hosts for group in (SSM, ASM)] + [(None, ASM)]
    for source, group in trees_of:
        members = {(host.switch, host.port) for host in member_hosts}
        expected = set(members)
        for switch in network.switches:
            for up in trees.upstream_ports(switch.name, source, group):
                far = trees.peer(switch.name, up)
                assert far is not None
                side = subtree(network, trees, switch.name, up, source, group)
                if any(host.switch in side for host in member_hosts):
                    expected.add(far)
        assert trees.memberships(source, group, members) == expected


def subtree(
    network: Network, trees: Trees, switch: str, up: int, source: IPv4Address | None, group: IPv4Address
) -> set[str]:
    """The switches of a tree whose way to the far side of (switch, up) leads through that port."""
    found = {switch}
    while True:
        more = set()
        for other in network.switches:
            for port in trees.upstream_ports(other.name, source, group):
                far = trees.peer(other.name, port)
                assert far is not None
                if far[0] in found and other.name not in found and far != (switch, up):
                    more.add(other.name)
        if not more:
            return found
        found |= more


@pytest.mark.parametrize("seed", SEEDS)
def test_outside_232_a_sources_tree_is_a_part_of_the_spanning_tree(seed: int) -> None:
    network = networks.random_network(seed)
    trees = Trees(network)
    for host in network.hosts:
        for switch in network.switches:
            up = trees.upstream_ports(switch.name, host.ip, ASM)
            assert up <= trees.shared_ports(switch.name)
            reachable = trees.upstream_ports(switch.name, host.ip, SSM)
            assert len(up) == len(reachable)
            assert up | ({host.port} if host.switch == switch.name else set()) == trees.accept_ports(
                switch.name, host.ip, ASM
            )


def test_ring_goes_the_cheap_way_and_around_when_it_breaks() -> None:
    network = networks.ring()
    trees = Trees(network)
    source = IPv4Address("10.0.0.1")
    assert [trees.upstream(name, source) for name in ("s1", "s2", "s3", "s4")] == [None, 2, 2, 2]
    assert trees.shared_ports("s4") == {2}
    trees.set_link("s3-s2", up=False)
    assert [trees.upstream(name, source) for name in ("s1", "s2", "s3", "s4")] == [None, 2, 3, 3]
    trees.set_link("s1-s4", up=False)
    assert [trees.upstream(name, source) for name in ("s1", "s2", "s3", "s4")] == [None, 2, None, None]
    assert trees.upstream("s2", IPv4Address("10.9.9.9")) is None


def test_links_are_found_by_name() -> None:
    trees = Trees(networks.network([("s1", "s2", 1), ("s1", "s2", 1), ("s2", "s3", 1)], {}))
    assert trees.find_link("s2:1-s1:1").name == "s1:1-s2:1"
    assert trees.find_link("s3-s2").name == "s2:3-s3:1"
    with pytest.raises(KeyError, match="several links"):
        trees.find_link("s1-s2")
    with pytest.raises(KeyError, match="no link"):
        trees.find_link("s1-s9")
