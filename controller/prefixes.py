"""Routes to single addresses as routes to prefixes, which say exactly the same.

Two halves of a prefix that go the same way are one route, and so on. No address is in a prefix that was not given: what
had no route has none. So a switch of a fat tree has some dozens of routes in place of thousands, where hosts that are
near each other have addresses that are near each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

W = TypeVar("W")

BITS = 32
"""Of an address (IPv4)."""


def merged(ways: Iterable[tuple[int, int, W]]) -> Iterator[tuple[int, int, W]]:
    """Prefixes (first address, length, way), disjoint and in the order of their addresses; the same with halves of one
    way put together."""
    stack: list[tuple[int, int, W]] = []
    for prefix in ways:
        stack.append(prefix)
        while len(stack) > 1:
            (one, length, way), (other, other_length, other_way) = stack[-2:]
            half = 1 << (BITS - length)
            if length != other_length or way != other_way or one ^ other != half or one & half:
                break
            stack[-2:] = [(one, length - 1, way)]
    return iter(stack)
