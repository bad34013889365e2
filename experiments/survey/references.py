"""Which receivers a TCP is sent to in the session's place, to see what TCP gets there."""

import math
from collections.abc import Sequence
from typing import Final

from experiments.survey.distribution import Cell

MOST: Final = 3
"""Reference runs of a cell at most."""
_LEAST_LOSS: Final = 1e-5
"""A path without loss counts as one with this: the link, not losses, is what holds a TCP back there."""


def candidates(cell: Cell) -> list[str]:
    """The receivers that may be the one whose own TCP gets least, the likeliest first.

    Of those who are there from beginning to end, the `MOST` at which losses and round trip allow a TCP the lowest rate,
    by Mathis, Semke, Mahdavi and Ott (1997): inversely proportional to rtt sqrt(p). Where all paths lose alike it is
    the farthest receiver alone."""
    delays = cell.tree.delays()
    names = [branch.name for branch in cell.tree.receivers]
    lost = {name: max(_LEAST_LOSS, path_loss(cell, number)) for number, name in enumerate(names)}

    def slowness(name: str) -> float:
        return 2 * (cell.trunk_s + delays[name]) * math.sqrt(lost[name])

    ranked = sorted(cell.steady, key=lambda name: (-slowness(name), names.index(name)))
    return ranked[: MOST if len({lost[name] for name in ranked}) > 1 else 1]


def path_loss(cell: Cell, number: int) -> float:
    """Of the way to the receiver of that place in the tree, beside what queues drop."""
    return cell.losses.rate if cell.losses.is_shared else cell.losses.own[number]


def worst(rates_bps: Sequence[float]) -> int:
    """The place of the lowest rate."""
    return min(range(len(rates_bps)), key=lambda place: rates_bps[place])
