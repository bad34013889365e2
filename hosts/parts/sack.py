"""Selective acknowledgments: sets of sequence numbers as an integer bitmap above a base.

Sequence numbers here are extended ones (hosts.wire.seq), so the wire's wrap does not exist. Bit i of a bitmap
stands for the number base + i.
"""

from collections.abc import Iterable, Iterator
from typing import Final


def bits(bitmap: int, base: int = 0) -> Iterator[int]:
    """The numbers of a bitmap's set bits, ascending."""
    while bitmap:
        skipped = (bitmap & -bitmap).bit_length() - 1
        bitmap >>= skipped
        base += skipped
        run = trailing_ones(bitmap)
        yield from range(base, base + run)
        bitmap >>= run
        base += run


def trailing_ones(bitmap: int) -> int:
    """How many of the lowest bits are set without a gap."""
    return (~bitmap & (bitmap + 1)).bit_length() - 1


class ReceivedSet:
    """What has arrived: everything below `cumulative`, and some above it."""

    __slots__ = ("_above", "cumulative")

    def __init__(self, start: int = 0) -> None:
        self.cumulative = start
        """The first number that has not arrived."""
        self._above = 0  # bit i: cumulative + i; bit 0 is never set

    def add(self, seq: int) -> bool:
        """Note an arrival; False when it was there already."""
        index = seq - self.cumulative
        if index < 0 or self._above >> index & 1:
            return False
        if index:
            self._above |= 1 << index
        elif not self._above:
            self.cumulative += 1
        else:
            run = trailing_ones(self._above | 1)
            self._above >>= run
            self.cumulative += run
        return True

    def add_run(self, seq: int, count: int) -> bool:
        """Note the arrival of so many from `seq` on; False, and nothing noted, when some of them were there already."""
        index = seq - self.cumulative
        if index < 0 or self._above >> index & (1 << count) - 1:
            return False
        self._above |= (1 << count) - 1 << index
        if not index:
            run = trailing_ones(self._above)
            self._above >>= run
            self.cumulative += run
        return True

    def __contains__(self, seq: int) -> bool:
        index = seq - self.cumulative
        return index < 0 or bool(self._above >> index & 1)

    @property
    def end(self) -> int:
        """One more than the largest number that has arrived."""
        return self.cumulative + self._above.bit_length()

    @property
    def has_gap(self) -> bool:
        """Whether something is missing below what has arrived."""
        return self._above != 0

    @property
    def sack(self) -> int:
        """Bit i: cumulative + 1 + i has arrived."""
        return self._above >> 1


REBASE: Final = 512
"""A scoreboard's bitmaps are shifted once in so many packets, for that costs as much as there are children (ours)."""


class Scoreboard:
    """What each of several children has acknowledged of the packets from `base` on, and what all of them have.

    `base` is the first packet that not all children have acknowledged. The children's bitmaps are the leaves of a tree
    whose inner nodes are the intersections of what is below them: an acknowledgment changes a leaf, and the nodes above
    it as far as they become others, mostly none. One that holds for many children changes all leaves first.
    """

    __slots__ = ("_complete", "_free", "_nodes", "_origin", "_places", "_size", "base")

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self._origin = base  # of the bitmaps
        self._complete = 0
        self._places: dict[int, int] = {}  # child -> its leaf in _nodes
        self._size = 1  # leaves
        self._nodes = [-1, -1]  # node i is above 2i and 2i + 1; 1 is the root; a leaf of nobody has everything
        self._free = [1]  # leaves of nobody

    def add_child(self, child: int, first: int | None = None) -> None:
        """From now on packets wait for this child too. It lacks all from `first` on; None: all that are not complete
        yet. A `first` below the base takes the base back.
        """
        if not self._free:
            self._grow()
        place = self._places[child] = self._free.pop()
        if first is None:
            self._put(place, self._complete)
            return
        back = self._origin - first
        if back > 0:
            below = (1 << back) - 1
            self._nodes = [node << back | below for node in self._nodes]
            self._complete = self._complete << back | below
            self._origin = first
        below = (1 << first - self._origin) - 1
        self._complete &= below
        self.base = min(self.base, first)
        self._put(place, below)

    def remove_child(self, child: int, end: int) -> int:
        """Packets no longer wait for this child. Returns what that completes (see `acknowledge`), below `end`."""
        place = self._places.pop(child)
        self._free.append(place)
        self._put(place, -1)
        return self._completed(-1, end)

    def acknowledge(self, child: int, cumulative: int, sack: int, end: int) -> int:
        """`child` has all below `cumulative`, and cumulative + 1 + i for each bit i of `sack`; `end` is one more than
        the last packet sent. Returns the packets that all children have now and had not before, as a bitmap above the
        base *before* this call. Call `advance` when done with it. What is said of packets from `end` on is kept for
        `sent`.
        """
        place = self._places[child]
        old = self._nodes[place]
        mask = old | self._said(cumulative, sack)
        if mask == old:
            return 0
        return self._completed(mask & ~old, end) if self._put(place, mask) else 0

    def acknowledge_all(self, children: Iterable[int], cumulative: int, sack: int, end: int) -> int:
        """As `acknowledge`, for all of these at once."""
        said = self._said(cumulative, sack)
        nodes, places = self._nodes, self._places
        news = 0
        old, mask = -1, -1
        for child in children:
            place = places[child]
            if nodes[place] != old:  # those that were told the same before share one bitmap
                old = nodes[place]
                mask = old | said
                news |= mask & ~old
            nodes[place] = mask
        if not news:
            return 0
        for place in range(self._size - 1, 0, -1):
            left, right = nodes[2 * place], nodes[2 * place + 1]
            nodes[place] = left if left is right else left & right
        return self._completed(news, end)

    def sent(self, seq: int) -> int:
        """Packet `seq` is among those that were sent now. What that completes, as `acknowledge` returns it."""
        if seq < self.base:
            return 0
        fresh = 1 << seq - self._origin & self._nodes[1] & ~self._complete
        self._complete |= fresh
        return fresh >> self.base - self._origin

    def is_new(self, first: int, count: int) -> bool:
        """Whether no child has all of any of so many packets from `first` on: `sent` would complete none of them."""
        if first < self.base:
            return False
        return not (self._nodes[1] | self._complete) >> first - self._origin & (1 << count) - 1

    def advance(self) -> int:
        """Move `base` past what is complete; returns by how much."""
        base = self._origin + trailing_ones(self._complete)
        run = base - self.base
        if run > 0:
            self.base = base
            done = base - self._origin
            if done >= REBASE:
                self._nodes = [node >> done for node in self._nodes]
                self._complete >>= done
                self._origin = base
        return run

    def lacking(self, seq: int) -> int:
        """How many children have not acknowledged `seq`."""
        if self.is_complete(seq):
            return 0
        bit = 1 << seq - self._origin
        return sum(not node & bit for node in self._nodes[self._size :])

    def is_complete(self, seq: int) -> bool:
        """Whether all children have `seq`."""
        return seq < self.base or bool(self._complete >> (seq - self._origin) & 1)

    def missing(self, child: int, end: int | None = None) -> int:
        """Bitmap above `base`: what `child` has not, below `end`; None: below the highest that it has."""
        mask = self._nodes[self._places[child]] >> self.base - self._origin
        return ~mask & ((1 << (mask.bit_length() if end is None else max(0, end - self.base))) - 1)

    def news(self, child: int, cumulative: int, sack: int) -> int:
        """Bitmap above `base`: what `child` would tell of by this acknowledgment (see `acknowledge`) for the first
        time."""
        return (self._said(cumulative, sack) & ~self._nodes[self._places[child]]) >> self.base - self._origin

    def has(self, child: int, seq: int) -> bool:
        """Whether `child` has acknowledged `seq`."""
        return seq < self.base or bool(self._nodes[self._places[child]] >> (seq - self._origin) & 1)

    def said(self, child: int) -> tuple[int, int]:
        """All that `child` has, as one acknowledgment would say it: cumulative number and bitmap."""
        mask = self._nodes[self._places[child]]
        run = trailing_ones(mask)
        return self._origin + run, mask >> run + 1

    def acknowledged(self, child: int) -> int:
        """The first packet that `child` has not acknowledged."""
        return self._origin + trailing_ones(self._nodes[self._places[child]])

    def _said(self, cumulative: int, sack: int) -> int:
        """An acknowledgment as a bitmap."""
        shift = cumulative - self._origin
        if shift < 0:
            return sack >> -shift - 1
        return (1 << shift) - 1 | sack << shift + 1

    def _completed(self, news: int, end: int) -> int:
        """What of `news` all have, and was sent, is complete now."""
        below_end = (1 << max(0, end - self._origin)) - 1
        fresh = self._nodes[1] & news & below_end & ~self._complete
        self._complete |= fresh
        return fresh >> self.base - self._origin

    def _put(self, place: int, mask: int) -> bool:
        """Change a leaf, and what is above it; whether that changes what all have."""
        nodes = self._nodes
        nodes[place] = mask
        while place > 1:
            place >>= 1
            both = nodes[2 * place] & nodes[2 * place + 1]
            if both == nodes[place]:
                return False
            nodes[place] = both
        return True

    def _grow(self) -> None:
        """Twice the leaves."""
        size = self._size
        leaves = self._nodes[size:]
        self._places = {child: place + size for child, place in self._places.items()}
        self._size = 2 * size
        self._free = list(range(4 * size - 1, 3 * size - 1, -1))
        self._nodes = [-1] * (2 * size) + leaves + [-1] * size
        for place in range(2 * size - 1, 0, -1):
            self._nodes[place] = self._nodes[2 * place] & self._nodes[2 * place + 1]
