import pytest

from experiments.survey.distribution import draw
from experiments.survey.kinds import KINDS, drawn


def test_any_cell_when_no_kind_is_asked_for() -> None:
    assert list(drawn(3, 4)) == [draw(3, number) for number in range(4)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_cells_of_a_kind_are_those_of_the_seed(kind: str) -> None:
    found = list(drawn(3, 5, kind))
    assert found == [cell for cell in drawn(3, found[-1].number + 1) if KINDS[kind](cell)]
    assert len(found) == 5


def test_kinds_are_as_the_goals_name_them() -> None:
    assert not any(cell.tcps or cell.losses.rate for cell in drawn(3, 5, "lossless"))
    assert {tcp.kind for cell in drawn(3, 20, "beside") for tcp in cell.tcps} == {"reno", "cubic"}
    assert {cell.change.kind for cell in drawn(3, 20, "change") if cell.change} == {"delay", "rate"}
