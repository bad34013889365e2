"""Transit window, congestion summary and the window that they leave the sender (MTCP 3.7, 3.8). Sizes are bytes."""

from typing import NamedTuple


class TransitWindow:
    """twnd: bytes that have been sent towards the children and that not all of them have acknowledged."""

    __slots__ = ("_floor", "size")

    def __init__(self) -> None:
        self.size = 0
        self._floor = 0

    def sent(self, size: int) -> None:
        """A new packet is on its way to the children."""
        self.size += size

    def counts(self, seq: int) -> bool:
        """Whether packet `seq` was sent after the last reset, so that it is part of the window."""
        return seq >= self._floor

    def acknowledged(self, seq: int, size: int) -> None:
        """All children have packet `seq` now. One sent before the last reset no longer counts."""
        if seq >= self._floor:
            self.size -= size

    def reset(self, next_seq: int) -> None:
        """A retransmission timer expired: what was sent before `next_seq` is not counted as in transit any more."""
        self.size = 0
        self._floor = next_seq


class Summary(NamedTuple):
    """What a node tells its parent of the subtree below."""

    min_cwnd: int
    max_twnd: int

    @property
    def current_window(self) -> int:
        """What the sender may add to what is in transit."""
        return max(0, self.min_cwnd - self.max_twnd)
