"""The children's advertised windows: what they let the sender send, and what a parent keeps for them (MTCP, 3.9)."""

from math import inf

from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.least import Least

_HELD = -1
"""Key of what is kept for no child: their numbers are not negative."""


class AdvertisedWindows:
    """Minima over the children, at most O(log n) a change. All are places in the stream, bytes."""

    __slots__ = ("_ends", "_keep_offsets")

    def __init__(self) -> None:
        self._ends = Least(0)
        self._keep_offsets = Least(inf)

    def update(self, child: Child) -> None:
        """The child is new, or its advertised window has opened."""
        self._ends.set(child.number, child.advertised_end)
        self._keep_offsets.set(child.number, child.keep_offset)

    def update_all(self, children: list[Child]) -> None:
        """Those of all of these have, to the same place; they are in the order of their numbers."""
        numbers = [child.number for child in children]
        self._ends.set_all(numbers, children[0].advertised_end)
        if len({child.buffer_bytes for child in children}) == 1:
            self._keep_offsets.set_all(numbers, children[0].keep_offset)
        else:
            for child in children:
                self._keep_offsets.set(child.number, child.keep_offset)

    def remove(self, child: Child) -> None:
        """It is none any more."""
        self._ends.remove(child.number)
        self._keep_offsets.remove(child.number)

    def hold(self, offset: int, buffer_bytes: int) -> None:
        """Keep what lies behind this place, whoever has gone (the least that was asked for); no more than so many bytes
        behind it are sent meanwhile.
        """
        least = min(offset, self._keep_offsets.value)
        self._keep_offsets.set(_HELD, least)
        self._ends.set(_HELD, least + buffer_bytes)

    def release(self) -> None:
        """Nothing is kept any more for those who have gone."""
        self._keep_offsets.remove(_HELD)
        self._ends.remove(_HELD)

    @property
    def end(self) -> int:
        """Place up to which all children take data: the minimum of the advertised windows."""
        return int(self._ends.value)

    @property
    def keep_offset(self) -> float:
        """Up to here nobody below needs anything any more; infinity without children."""
        return self._keep_offsets.value
