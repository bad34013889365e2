"""Random values from a small set for each width, so that what a table looks for is what packets have."""

import random
import re
from collections.abc import Iterator
from typing import Any

PER_WIDTH = 6
"""Random values of each width."""
HEXADECIMAL = re.compile("0x[0-9a-f]+")
SMALL = range(9)
"""Ports, groups and sessions that exist."""


class Values:
    """The program's own constants, the corners of each width, small numbers, and some random ones."""

    def __init__(self, chooser: random.Random, program: Any) -> None:
        self.chooser = chooser
        self._constants = sorted(set(_constants(program)))
        self._sets: dict[int, list[int]] = {}

    def pick(self, width: int) -> int:
        """A value of `width` bits."""
        if width == 0:
            return 0
        if self.chooser.random() < 0.15:
            return self.chooser.getrandbits(width)
        return self.chooser.choice(self._of(width))

    def port(self) -> int:
        return self.chooser.choice(SMALL)

    def _of(self, width: int) -> list[int]:
        if width not in self._sets:
            top = (1 << width) - 1
            found = {0, 1, top, top >> 1, 1 << (width - 1), *(small for small in SMALL if small <= top)}
            fitting = [constant for constant in self._constants if constant <= top]
            found |= set(self.chooser.sample(fitting, min(len(fitting), 2 * PER_WIDTH)))
            found |= {self.chooser.getrandbits(width) for _ in range(PER_WIDTH)}
            self._sets[width] = sorted(found)
        return self._sets[width]


def _constants(node: Any) -> Iterator[int]:
    """All hexadecimal numbers in a program's JSON."""
    if isinstance(node, dict):
        for value in node.values():
            yield from _constants(value)
    elif isinstance(node, list):
        for value in node:
            yield from _constants(value)
    elif isinstance(node, str) and HEXADECIMAL.fullmatch(node):
        yield int(node, 16)
