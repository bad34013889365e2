import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.survey.tree import ROOT, draw_tree


@given(st.integers(), st.integers(1, 64))
def test_a_tree_is_one(seed: int, receivers: int) -> None:
    tree = draw_tree(random.Random(seed), receivers, 0.05)
    assert [branch.name for branch in tree.receivers] == [f"r{number + 1}" for number in range(receivers)]
    above = {ROOT}
    for router in tree.routers:
        assert router.parent in above
        above.add(router.name)
    parents = [branch.parent for branch in (*tree.routers, *tree.receivers)]
    assert set(parents) | {ROOT} == above, "a router without receivers below it"
    delays = tree.delays()
    assert max(delays.values()) == pytest.approx(0.05)
    assert min(branch.delay_s for branch in (*tree.routers, *tree.receivers)) > 0


def test_delays_are_sums_along_the_way() -> None:
    tree = draw_tree(random.Random(3), 20, 1.0)
    links = {branch.name: branch for branch in (*tree.routers, *tree.receivers)}
    assert tree.routers
    for name, delay in tree.delays().items():
        total, at = 0.0, name
        while at != ROOT:
            total += links[at].delay_s
            at = links[at].parent
        assert total == pytest.approx(delay)


def test_trees_differ_in_depth_and_width() -> None:
    sizes = {len(draw_tree(random.Random(seed), 30, 1.0).routers) for seed in range(40)}
    assert len(sizes) > 4
