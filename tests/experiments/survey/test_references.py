from dataclasses import replace

import pytest

from experiments.survey.distribution import Losses, draw
from experiments.survey.references import MOST, candidates, path_loss, worst
from experiments.survey.tree import Branch, Tree
from tests.experiments.survey.cells import FAR, NEAR, small

OWN = Losses("independent", 0.02, False, (0.02, 0.001), 2.0)


def test_without_losses_of_their_own_it_is_the_farthest() -> None:
    assert candidates(small()) == [FAR]
    assert candidates(small(losses=Losses("independent", 0.01, True, (0.0, 0.0), 2.0))) == [FAR]


def test_losses_count_as_their_root() -> None:
    # 40 ms sqrt(0.02) is more than 100 ms sqrt(0.001), and less than 100 ms sqrt(0.01).
    assert candidates(small(losses=OWN)) == [NEAR, FAR]
    assert candidates(small(losses=replace(OWN, own=(0.02, 0.01)))) == [FAR, NEAR]


def test_who_joins_late_or_dies_is_none() -> None:
    assert candidates(small(late={FAR: 4.0})) == [NEAR]
    assert candidates(small(losses=OWN, dying=(NEAR, 4.0))) == [FAR]


def test_there_are_not_too_many() -> None:
    many = Tree((), tuple(Branch(f"r{number + 1}", "g1", 0.01) for number in range(9)))
    lossy = Losses("bursts", 0.02, False, tuple(0.002 * number for number in range(9)), 2.0)
    cell = small(tree=many, losses=lossy)
    assert candidates(cell) == ["r9", "r8", "r7"]
    assert all(1 <= len(candidates(draw(2, number))) <= MOST for number in range(100))


def test_the_loss_of_a_path_is_the_bottlenecks_or_its_own() -> None:
    assert path_loss(small(losses=OWN), 1) == 0.001
    assert path_loss(small(losses=replace(OWN, is_shared=True, own=(0.0, 0.0))), 1) == 0.02


@pytest.mark.parametrize(("rates", "place"), [([3.0], 0), ([3.0, 1.0, 2.0], 1), ([1.0, 1.0], 0)])
def test_the_worst_is_the_slowest(rates: list[float], place: int) -> None:
    assert worst(rates) == place
