"""Lines that begin where others have ended: of a path of many, each by its step from the one before."""

import re
from typing import Final

from experiments.figures.extents import PLACE

_PART: Final = re.compile(r"([A-Za-z])([^A-Za-z]*)")


def moved(path: str) -> str:
    """The same path in whole numbers, its lines' beginnings by steps where those are shorter. Others stay as they
    are."""
    written, x, y, start = "", 0, 0, (0, 0)
    for letter, numbers in _PART.findall(path):
        if "." in numbers or letter not in "MClhvz":
            return path
        values = [int(number) for number in PLACE.findall(numbers)]
        part = letter + numbers
        if letter == "z":
            x, y = start
        elif letter == "h":
            x += sum(values)
        elif letter == "v":
            y += sum(values)
        elif letter == "l":
            x, y = x + sum(values[::2]), y + sum(values[1::2])
        else:
            across, down = values[-2] - x, values[-1] - y
            if letter == "M" and written:
                part = min(part, f"m{across}{'' if down < 0 else ' '}{down}", key=len)
            x, y = values[-2:]
            start = (x, y) if letter == "M" else start
        written += part
    return written
