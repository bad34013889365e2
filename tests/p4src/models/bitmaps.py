"""Bitmaps of the wire, as sets of numbers."""

from collections.abc import Iterable


def members(bitmap: int) -> frozenset[int]:
    """The bits of a bitmap as a set."""
    return frozenset(at for at, bit in enumerate(reversed(f"{bitmap:b}")) if bit == "1")


def bitmap(numbers: Iterable[int]) -> int:
    """The reverse of `members`."""
    return sum(1 << number for number in numbers)
