import math

import pytest

from topologies.results.layout import MOST_LEAVES_IN_COLUMNS, lay_out

TREE = [("sender", "s1"), ("s1", "s2"), ("s1", "s3"), ("s2", "r1"), ("s2", "r2"), ("s3", "r3")]
NODES = ["s1", "s2", "s3", "sender", "r1", "r2", "r3"]


def test_a_tree_stands_in_columns_by_hops_with_parents_beside_their_children() -> None:
    places = lay_out(NODES, TREE, "sender")
    assert [places[name].x for name in ("sender", "s1", "s2", "r1")] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert places["r1"].y > places["r2"].y > places["r3"].y
    assert places["s2"].y == pytest.approx((places["r1"].y + places["r2"].y) / 2)


def test_a_large_network_stands_in_rings_and_nodes_apart() -> None:
    leaves = [f"r{number}" for number in range(MOST_LEAVES_IN_COLUMNS + 1)]
    places = lay_out(["c", *leaves], [("c", leaf) for leaf in leaves], "c")
    assert (places["c"].x, places["c"].y) == (0.5, 0.5)
    assert all(math.hypot(places[leaf].x - 0.5, places[leaf].y - 0.5) == pytest.approx(0.5) for leaf in leaves)
    assert len({(round(place.x, 6), round(place.y, 6)) for place in places.values()}) == len(places)


def test_what_hangs_on_nothing_and_circles_have_places_too() -> None:
    places = lay_out(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "a")], None)
    assert set(places) == {"a", "b", "c", "d"}
    assert all(0 <= place.x <= 1 and 0 <= place.y <= 1 for place in places.values())
    assert lay_out([], [], None) == {}
