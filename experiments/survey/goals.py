"""How a protocol does in the kinds of networks that its goals name, which are a part of a survey's.

A verdict counts all cells. But chance losses hold a TCP back, too, and beside a BBR a CUBIC gets little: there, what a
TCP gets in a protocol's place says more of it."""

from collections.abc import Iterable, Sequence
from typing import Final

from experiments.figures.survey import Count, Goals
from experiments.survey.kinds import is_beside_loss_based, is_lossless
from experiments.survey.outcome import FAIR, Outcome

NEARLY_ALL: Final = 0.9
"""Of what TCP gets, alone and without losses."""


def goals(outcomes: Sequence[Outcome]) -> Goals:
    """Of one protocol's outcomes."""
    lossless = [outcome.of_tcp for outcome in outcomes if outcome.of_tcp is not None and is_lossless(outcome.cell)]
    beside = [outcome.share for outcome in outcomes if outcome.share is not None and is_beside_loss_based(outcome.cell)]
    in_place = [outcome.of_tcp for outcome in outcomes if outcome.of_tcp is not None and outcome.cell.tcps]
    return Goals(
        lossless=count(part >= NEARLY_ALL for part in lossless),
        lossless_least=min(lossless, default=None),
        beside_loss_based=count(_is_fair(share) for share in beside),
        beside_least=min(beside, default=None),
        beside_most=max(beside, default=None),
        as_tcp=count(_is_fair(part) for part in in_place),
    )


def count(answers: Iterable[bool | None]) -> Count:
    """Those that are given, and those that are yes."""
    given = [answer for answer in answers if answer is not None]
    return Count(cells=len(given), holds=sum(given))


def _is_fair(ratio: float) -> bool:
    return FAIR[0] <= ratio <= FAIR[1]
