"""Lost packets, as a receiver sees them: numbers that three later ones have overtaken."""

from typing import Final

REORDERING: Final = 3
"""Packets; as TCP (RFC 5681, 3.2) and TFRC (RFC 5348, 5.1) have it."""
LONGEST_GAP: Final = 1000
"""More than so many missing at once is an interruption; the older ones are not looked for (ours)."""


class Gaps:
    """Sequence numbers are unbounded integers."""

    __slots__ = ("_missing", "highest", "lost_packets")

    def __init__(self) -> None:
        self.highest = -1
        self.lost_packets = 0
        self._missing: list[int] = []  # in order; not yet taken for lost

    def arrived(self, seq: int) -> bool:
        """A packet came. False: a duplicate, or one that was already given up."""
        if self.highest < 0:
            self.highest = seq  # what came before one joined is not missed
            return True
        if seq == self.highest + 1:  # as nearly all
            self.highest = seq
            return True
        if seq > self.highest:
            gap = range(self.highest + 1, seq)
            self.lost_packets += max(0, len(gap) - LONGEST_GAP)
            self._missing.extend(gap[-LONGEST_GAP:])
            self.highest = seq
            return True
        if seq in self._missing:
            self._missing.remove(seq)
            return True
        return False

    @property
    def is_doubtful(self) -> bool:
        """Whether packets are missing that may come yet, or will have turned out lost."""
        return bool(self._missing)

    def is_next(self, seq: int) -> bool:
        """Whether a packet follows the highest, and nothing is missing."""
        return seq == self.highest + 1 and not self._missing

    def follow(self, count: int) -> int:
        """So many packets came that follow the highest; the first one's number."""
        first = self.highest + 1
        self.highest += count
        return first

    def take_lost(self) -> int:
        """How many turned out lost since the last call."""
        missing = self._missing
        if not missing:
            return 0
        count = 0
        while count < len(missing) and missing[count] <= self.highest - REORDERING:
            count += 1
        del missing[:count]
        self.lost_packets += count
        return count
