"""What MTCP's rows are made of: trees, topologies, and how windows and rates are read."""

import itertools

import networkx
import pytest

from experiments.harness.measures import by_interval
from experiments.rows.mtcp.background import logical_tree, random_topology
from experiments.rows.mtcp.fairness import shared_link
from experiments.rows.mtcp.response import BOUND_MS, responses, slow_starts, tracking
from experiments.rows.mtcp.scalability import multilevel, nodes_of_fig8
from experiments.rows.mtcp.sites import rate_of, sites
from experiments.rows.mtcp.transit_stub import Shape, transit_stub


def test_the_multilevel_tree_is_perfect() -> None:
    tree = multilevel(100)
    children = [child for below in tree.values() for child in below]
    assert sorted(children, key=lambda name: int(name[1:])) == [f"n{number}" for number in range(1, 101)]
    assert [len(below) for below in tree.values()] == [5] * 20
    assert multilevel(3) == {"n0": ["n1", "n2", "n3"]}
    assert list(multilevel(7)) == ["n0", "n1"]


def test_fig8_has_a_link_for_each_edge_of_the_tree() -> None:
    document = nodes_of_fig8(100, 10, None)
    slow = {tuple(link["between"]) for link in document["links"] if "rate" in link}
    edges = {(f"s{parent[1:]}", f"s{child[1:]}") for parent, below in multilevel(100).items() for child in below}
    assert slow == edges
    assert "tree" not in document["sessions"][0]


def test_a_transit_stub_topology_is_gt_itms_hundred_nodes() -> None:
    topology = transit_stub(Shape(), 7)
    graph = topology.graph
    assert graph.number_of_nodes() == 100
    assert networkx.is_connected(graph)
    assert networkx.utils.graphs_equal(graph, transit_stub(Shape(), 7).graph)
    assert not networkx.utils.graphs_equal(graph, transit_stub(Shape(), 8).graph)
    kinds = networkx.get_edge_attributes(graph, "kind")
    assert sum(kind == "transit-stub" for kind in kinds.values()) == len(topology.stubs) == 12
    # The only way out of a stub domain is its gateway's link.
    for stub in topology.stubs:
        assert networkx.is_connected(topology.domain(stub))
        leaving = [(one, other) for one, other in networkx.edge_boundary(graph, stub.nodes)]
        assert leaving == [(stub.gateway, stub.transit)]


def test_the_logical_tree_follows_the_domains() -> None:
    topology = transit_stub(Shape(), 1)
    tree = logical_tree(topology, "sender")
    parents = {child: parent for parent, below in tree.items() for child in below}
    assert len(parents) == 100
    assert max(len(below) for below in tree.values()) <= 5
    stub_of = {f"n{node}": stub for stub in topology.stubs for node in stub.nodes}
    for child, parent in parents.items():
        stub = stub_of.get(child)
        if stub is not None:
            assert stub_of.get(parent) is stub or (parent, child) == (f"n{stub.transit}", f"n{stub.gateway}")
    logical = networkx.DiGraph(((parent, child) for child, parent in parents.items()))
    assert networkx.is_arborescence(logical)


def test_receivers_of_the_random_topology_lose_and_others_do_not() -> None:
    document = random_topology(60, 0.01)
    lossy = [link for link in document["links"] if "toward" in link]
    assert len(lossy) == 100
    assert all(list(link["toward"].values()) == [{"loss": 0.01}] for link in lossy)


def test_table1_has_four_senders_and_one_slow_link() -> None:
    document = shared_link(12, 10)
    assert [one["sender"] for one in document["sessions"]] == ["s1", "s2", "s3", "s4"] * 3
    assert {len(one["receivers"]) for one in document["sessions"]} == {9}
    assert [link["between"] for link in document["links"] if link.get("rate") == "1e+06 bps"] == [["n8", "n5"]]
    assert max(len(below) for one in document["sessions"] for below in one["tree"].values()) == 3


def test_sites_put_a_tcp_on_each_link_and_the_bottleneck_where_it_belongs() -> None:
    document = sites(("A2", "A3", "A4"), {"A2": 140.0}, [{"area": "A2"}, {"area": "A3"}], name="x", seconds=10)
    at = dict(reversed(link["between"]) for link in document["links"])
    assert [(at[flow["source"]], at[flow["destination"]]) for flow in document["traffic"]] == [
        ("emory", "ncsu"),
        ("ncsu", "unc"),
    ]
    slow = [link["between"] for link in document["links"] if link.get("rate") == rate_of(140.0)]
    assert slow == [["emory", "ncsu"]]
    tree = document["sessions"][0]["tree"]
    assert sum(map(len, tree.values())) == len(document["sessions"][0]["receivers"]) == 2 + 3 * 3
    # Each site's agent is the child of the agent of the site above.
    assert [at[child] for child in tree["sender"]] == ["emory", "emory", "ncsu", "gatech"]


def _window(*pieces: tuple[float, float, float]) -> list[tuple[float, float]]:
    """Samples every 10 ms of a window that has a value from one time to another."""
    samples = []
    for start, end, value in pieces:
        steps = round((end - start) / 0.01)
        samples += [(start + 0.01 * step, value) for step in range(steps)]
    return samples


def test_a_response_is_from_slow_start_to_a_window_that_is_down() -> None:
    agent = _window((0, 1, 20.0), (1, 1.2, 1.0), (1.2, 2, 4.0))
    sender = _window((0, 1.15, 20.0), (1.15, 2, 1.0))
    ((at, before),) = slow_starts(agent)
    assert (round(at, 6), before) == (1.0, 20.0)
    assert responses(agent, sender) == [pytest.approx(0.15)]
    # While the agent's window grows again it is enough to be where that has been.
    late = _window((0, 1.3, 20.0), (1.3, 2, 3.5))
    assert responses(agent, late) == [pytest.approx(0.3)]
    assert responses(agent, _window((0, 2, 20.0))) == []


def test_tracking_is_one_less_the_mean_distance() -> None:
    agent = _window((0, 1, 20.0), (1, 2, 5.0))
    assert tracking(agent, agent, 0.0) == 1.0
    assert tracking(agent, _window((0, 1.1, 20.0), (1.1, 2, 5.0)), 0.1) == pytest.approx(1.0, abs=0.01)
    # For half of the time 15 packets too many, where the mean is 12.5.
    assert tracking(agent, _window((0, 2, 20.0)), 0.0) == pytest.approx(1 - 7.5 / 12.5)
    with pytest.raises(ValueError, match="no windows"):
        tracking(agent, [], 0.1)


def test_the_bound_of_the_response_is_two_hops_up() -> None:
    assert pytest.approx(8 + 5 + 2 * 20 + 50) == BOUND_MS


def test_rates_by_interval_lie_between_the_samples() -> None:
    counter = [(0.5, 0), (1.5, 1000), (4.0, 3500)]
    assert [at for at, _ in by_interval(counter, 1.0)] == [0.5, 1.5, 2.5, 3.5]
    assert [rate for _, rate in by_interval(counter, 1.0)] == pytest.approx([500, 1000, 1000, 1000])
    total = sum(rate for _, rate in by_interval(counter, 2.0)) * 2
    assert total == pytest.approx(3500)
    assert by_interval([], 1.0) == []
    rising = [(time, time**2) for time in map(float, range(11))]
    rates = [rate for _, rate in by_interval(rising, 2.5)]
    assert all(after > before for before, after in itertools.pairwise(rates))
