"""Whom feedback that a switch has merged speaks for (docs/assist.md)."""

from collections.abc import Mapping

from hosts.parts.sack import bits
from hosts.protocols.mtcp.children import Child


class Members:
    """The children that merged feedback stands for: looked up once, as long as it is the same ones."""

    __slots__ = ("_by_number", "_members", "_numbers")

    def __init__(self, by_number: Mapping[int, Child]) -> None:
        self._by_number = by_number
        self._numbers = 0
        self._members: list[Child] | None = None

    def named(self, numbers: int) -> list[Child]:
        """Merged feedback stands for these, a bitmap; who is there of them and may be merged, by their numbers."""
        if numbers != self._numbers or self._members is None:
            # Who is left out, and was in the last, is on its own again.
            for left_out in self._those(self._numbers & ~numbers):
                left_out.on_its_own()
            self._numbers = numbers
            self._members = [child for child in self._those(numbers) if child.merge]
        return self._members

    def _those(self, numbers: int) -> list[Child]:
        return [self._by_number[number] for number in bits(numbers) if number in self._by_number]

    def forget(self) -> None:
        """A child has come or gone; another one may have its number."""
        self._members = None
