"""Where the shapes of a compact picture (svg.py) are: straight lines, rectangles, and all that is made of lines."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element

PLACE: Final = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
"""A number of a compact picture, which may begin with its point."""
STRAIGHT: Final = re.compile(r"M(-?[\d.]+) ?(-?[\d.]+)([hvl])(-?[\d.]+) ?(-?[\d.]+)?")
RECTANGLE: Final = re.compile(r"M(-?[\d.]+) ?(-?[\d.]+)h(-?[\d.]+)v(-?[\d.]+)h-?[\d.]+z")
_WIDTH: Final = re.compile(r"stroke-width: ?([\d.]+)")
_END: Final = 0.01
"""The part of a line that is its end."""
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def extent(element: Element, shapes: Mapping[str, Element], default: float) -> Box | None:
    """Where a path of lines, or a marker of them, may leave a mark; None where that is not known."""
    shape = shapes.get(element.get("href", ""), element)
    x, y = float(element.get("x", "0")), float(element.get("y", "0"))
    places: list[tuple[float, float]] = []
    start = at = (x, y)
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", shape.get("d", "A")):
        values = [float(number) for number in PLACE.findall(numbers)]
        match letter:
            case "M" | "C":
                points = [(x + one, y + other) for one, other in zip(values[::2], values[1::2], strict=True)]
                steps = [(one[0] - last[0], one[1] - last[1]) for last, one in pairwise([at, *points])]
            case "l":
                steps = list(zip(values[::2], values[1::2], strict=True))
            case "h" | "v":
                steps = [(value, 0.0) if letter == "h" else (0.0, value) for value in values]
            case "z":
                steps = [(start[0] - at[0], start[1] - at[1])]
            case _:
                return None
        for step in steps:
            at = (at[0] + step[0], at[1] + step[1])
            places.append(at)
        start = at if letter == "M" else start
    style = f"{element.get('style', '')}; {shape.get('style', '')}"
    width = _WIDTH.search(style)
    # Corners and square ends reach farther than half a width.
    reach = 0.0 if "stroke:" not in style else default if width is None else float(width[1])
    across, down = zip(*places, strict=True)
    return min(across) - reach, min(down) - reach, max(across) + reach, max(down) + reach


def box_of(line: re.Match[str]) -> Box:
    """Of a straight line, less its ends, which others may touch."""
    x, y, word, *numbers = line.groups()
    first, second = float(numbers[0]), float(numbers[1] or 0)
    steps = {"h": (first, 0.0), "v": (0.0, first), "l": (first, second)}[word]
    (left, right), (top, bottom) = (
        sorted((start + _END * step, start + (1 - _END) * step))
        for start, step in zip((float(x), float(y)), steps, strict=True)
    )
    return left, top, right, bottom


def meet(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
