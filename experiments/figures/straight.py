"""Lines without the points that are nearly on them: Douglas and Peucker's way (Algorithms for the Reduction of the
Number of Points Required to Represent a Digitized Line, 1973)."""

import re
from itertools import pairwise
from typing import Final, TypeAlias

from experiments.figures.extents import PLACE

WITHIN: Final = 4.0
"""Tenths of a point (ours): half the thinnest line's width."""
_LINES: Final = re.compile(r"(?:[lhv][^A-Za-z]*)+")
_STEPS: Final = re.compile(r"([lhv])([^A-Za-z]*)")
_Place: TypeAlias = tuple[int, int]


def straightened(path: str) -> str:
    """A path in whole numbers, whose lines are steps, with fewer of them. Others stay as they are."""
    return path if "." in path else _LINES.sub(lambda found: _fewer(found[0]), path)


def _fewer(lines: str) -> str:
    x = y = 0
    places = [(x, y)]
    for letter, numbers in _STEPS.findall(lines):
        values = [int(number) for number in PLACE.findall(numbers)]
        across = values[::2] if letter == "l" else values if letter == "h" else [0] * len(values)
        down = values[1::2] if letter == "l" else values if letter == "v" else [0] * len(values)
        for step in zip(across, down, strict=True):
            x, y = x + step[0], y + step[1]
            places.append((x, y))
    kept = _kept(places)
    if len(kept) == len(places):
        return lines
    written, last = "", ""
    for (x, y), (next_x, next_y) in pairwise(kept):
        step = (next_x - x, next_y - y)
        letter = "l" if all(step) else "h" if step[0] else "v"
        for number in [str(one) for one in (step if letter == "l" else (sum(step),))]:
            written += letter if letter != last else " " if number[0] != "-" else ""
            written, last = written + number, letter
    return written


def _kept(places: list[_Place]) -> list[_Place]:
    """The first, the last, and those between that are farther than `WITHIN` from the line that would be without."""
    keeps, open_parts = {0, len(places) - 1}, [(0, len(places) - 1)]
    while open_parts:
        first, last = open_parts.pop()
        distance, number = max(
            ((_distance(places[one], places[first], places[last]), one) for one in range(first + 1, last)),
            default=(0.0, 0),
        )
        if distance > WITHIN:
            keeps.add(number)
            open_parts += [(first, number), (number, last)]
    return [places[number] for number in sorted(keeps)]


def _distance(place: _Place, first: _Place, last: _Place) -> float:
    """From the nearest place of a line."""
    line, way = complex(*last) - complex(*first), complex(*place) - complex(*first)
    part = (way * line.conjugate()).real / abs(line) ** 2 if line else 0.0
    return abs(way - min(max(part, 0.0), 1.0) * line)
