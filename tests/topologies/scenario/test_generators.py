"""Generated networks: their sizes, that they hang together, and that an absurd size is told before anything is made."""

from collections import Counter

import networkx
import pytest

from topologies.scenario.generators import FatTree, GeneratorError, Made, TransitStub, Tree


def joined(made: Made) -> bool:
    graph = networkx.Graph((link.one, link.other) for link in made.links if link.role != "access")
    graph.add_nodes_from(range(made.switches))
    return bool(networkx.is_connected(graph))


def test_a_tree_has_its_hosts_at_the_bottom() -> None:
    made = Tree(depth=2, fanout=5).make()
    assert (made.switches, made.hosts) == (6, 25)
    assert Counter(link.other for link in made.links if link.role == "access") == dict.fromkeys(range(1, 6), 5)
    assert Counter(link.role for link in made.links) == {"core": 5, "access": 25}
    assert joined(made)


def test_a_tree_of_one_level_is_a_star() -> None:
    made = Tree(depth=1, fanout=3).make()
    assert [(link.one, link.other, link.role) for link in made.links] == [(n, 0, "access") for n in range(3)]


@pytest.mark.parametrize("k", [2, 4, 8])
def test_every_switch_of_a_fat_tree_has_k_ports(k: int) -> None:
    made = FatTree(k=k).make()
    ports: Counter[int] = Counter()
    for link in made.links:
        ports[link.other] += 1
        if link.role != "access":
            ports[link.one] += 1
    assert (made.switches, made.hosts) == (5 * k * k // 4, k**3 // 4)
    assert set(ports.values()) == {k}
    assert joined(made)


def test_transit_stub_networks_hang_together_and_are_the_seeds() -> None:
    for seed in range(10):
        made = TransitStub(domains=3, transit=4, stubs=2, stub=3, hosts=2, seed=seed).make()
        assert (made.switches, made.hosts) == (12 + 12 * 2 * 3, 12 * 2 * 3 * 2)
        assert joined(made)
        assert made == TransitStub(domains=3, transit=4, stubs=2, stub=3, hosts=2, seed=seed).make()


@pytest.mark.parametrize(
    "shape",
    [
        Tree(depth=16, fanout=20_000),
        FatTree(k=40).model_copy(update={"k": 60}),
        TransitStub(domains=20_000, transit=20_000, stubs=20_000, stub=20_000),
        TransitStub(domains=1, transit=1000, stubs=0),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_what_is_too_large_is_told_at_once(shape: Tree | FatTree | TransitStub) -> None:
    with pytest.raises(GeneratorError, match=r"most"):
        shape.make()
