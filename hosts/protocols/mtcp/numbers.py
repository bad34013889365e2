"""The numbers of a parent's children, by which switches know them (docs/assist.md)."""

from collections import deque

from hosts.protocols.mtcp.packets import MERGE_CHILDREN


class Numbers:
    """As many as switches can merge are used again; who comes when all of these are taken has a larger one."""

    __slots__ = ("_free", "_next")

    def __init__(self) -> None:
        self._free = deque(range(MERGE_CHILDREN))
        self._next = MERGE_CHILDREN

    def take(self) -> int:
        """A number for a child."""
        if self._free:
            return self._free.popleft()
        self._next += 1
        return self._next - 1

    def give_back(self, number: int) -> None:
        """Its child has gone. Other free ones come before it: switches may still remember this one."""
        if number < MERGE_CHILDREN:
            self._free.append(number)


def spread(number: int) -> float:
    """A place in [0, 1) for each of 0, 1, 2, ..., van der Corput's: however many there are, they lie about evenly."""
    place, step = 0.0, 0.5
    while number:
        place += step * (number & 1)
        number >>= 1
        step /= 2
    return place
