"""The kinds of cells that the protocols' goals name: a part of a survey's, or all of one that asks for them alone."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from experiments.survey.distribution import Cell, draw

_LOSS_BASED: Final = frozenset({"reno", "cubic"})


def is_lossless(cell: Cell) -> bool:
    """Alone, and nothing is lost but in queues."""
    return not cell.tcps and cell.losses.kind == "none"


def is_beside_loss_based(cell: Cell) -> bool:
    """Beside TCPs that are all Reno's or CUBIC's."""
    return bool(cell.tcps) and {tcp.kind for tcp in cell.tcps} <= _LOSS_BASED


def has_change(cell: Cell) -> bool:
    """Its bottleneck's delay or rate changes."""
    return cell.change is not None


KINDS: Final[Mapping[str, Callable[[Cell], bool]]] = {
    "lossless": is_lossless,
    "beside": is_beside_loss_based,
    "change": has_change,
}
"""By the name that `--only` knows."""


def drawn(seed: int, cells: int, only: str = "") -> Iterator[Cell]:
    """The first so many cells of a seed, or its first so many of a kind. A cell is the same, whoever asks for it."""
    everything = (draw(seed, number) for number in itertools.count())
    wanted = filter(KINDS[only], everything) if only else everything
    return itertools.islice(wanted, cells)
