"""Which protocol is the first in what is compared, from what is kept of the comparison's rows: one of them beside the
best of the others, once without switches' help and once with it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from experiments.harness.statistics import Estimate

_WITH_HELP: Final = ", switches"
"""Of a contender's name. One without any such case takes part in both halves."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender in one network."""

    network: str
    quantity: str
    label: str
    """The quantity's."""
    contender: str
    estimate: Estimate
    text: str
    """The estimate, as it is to be shown."""


def _off_one(share: float) -> float:
    return abs(math.log(share)) if share > 0 else math.inf


_WORSE: Final[Mapping[str, Callable[[float], float]]] = {
    "share": _off_one,
    "slowest": lambda rate: -rate,
    "slow": lambda rate: -rate,
    "variation": float,
    "loss": float,
    "feedback": float,
    "reaction": float,
}
"""Quantity -> how bad a value is. The fastest receiver is not compared: one rate for all cannot win."""
_BESIDE_TCP: Final = "share"
"""Where this is measured, more is not better: `slowest` does not count."""
_NONE: Final = {"feedback": 0.0}
"""Who has this value takes no part: a protocol without feedback is not the one with least of it."""


def firsts_lines(measured: Sequence[Measured], who: str, without: Sequence[str] = ()) -> list[list[str]]:
    """A table's lines: each quantity of each network, `who`, the best of the others but `without` these, and whether
    `who` is the first or within the 95 % interval of the first. ValueError when one of them was not measured."""
    known = {_protocol(one) for one in measured}
    for name in (who, *without):
        if name not in known:
            raise ValueError(f"no contender {name}")
    measured = [one for one in measured if _protocol(one) not in without]
    head = ["network", "", who, "the first of the others", "first, or within"]
    lines = [[*head, "with switches: " + who, *head[3:]]]
    for network in dict.fromkeys(one.network for one in measured):
        here = [one for one in measured if one.network == network]
        is_beside = any(one.quantity == _BESIDE_TCP for one in here)
        quantities = [name for name in dict.fromkeys(one.quantity for one in here) if name in _WORSE]
        wanted = [name for name in quantities if not (is_beside and name == "slowest")]
        for number, quantity in enumerate(wanted):
            cells = [one for one in here if one.quantity == quantity]
            halves = [cell for has_help in (False, True) for cell in _half(cells, who, has_help=has_help)]
            lines.append(["" if number else f"`{network}`", cells[0].label, *halves])
    return lines


def _half(cells: Sequence[Measured], who: str, *, has_help: bool) -> Iterator[str]:
    ours = [one for one in cells if one.contender == who + _WITH_HELP * has_help]
    worse = _WORSE[cells[0].quantity]
    first = min(_others(cells, who, has_help=has_help), key=lambda one: worse(one.estimate.mean))
    mean = ours[0].estimate.mean
    is_first = worse(mean) <= worse(first.estimate.mean)
    is_within = first.estimate.low <= mean <= first.estimate.high
    yield ours[0].text
    yield f"{first.contender.removesuffix(_WITH_HELP)} {first.text}"
    yield "first" if is_first else "within" if is_within else "**no**"


def _others(cells: Sequence[Measured], who: str, *, has_help: bool) -> list[Measured]:
    names = {one.contender for one in cells}
    return [
        one
        for one in cells
        if _protocol(one) != who
        and one.estimate.mean != _NONE.get(one.quantity)
        and (one.contender.endswith(_WITH_HELP) == has_help or (has_help and one.contender + _WITH_HELP not in names))
    ]


def _protocol(one: Measured) -> str:
    return one.contender.partition(",")[0]
