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
        first, length, way = prefix
        while stack:
            before, its_length, its_way = stack[-1]
            if its_length != length or before ^ first != 1 << (BITS - length) or before > first or its_way != way:
                break
            stack.pop()
            first, length = before, length - 1
        stack.append((first, length, way))
    return iter(stack)
