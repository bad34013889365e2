"""Selective acknowledgments: sets of sequence numbers as an integer bitmap above a base.

Sequence numbers here are extended ones (hosts.seq), so the wire's wrap does not exist. Bit i of a bitmap stands for the
number base + i.
"""

from collections.abc import Iterator


def bits(bitmap: int, base: int = 0) -> Iterator[int]:
    """The numbers of a bitmap's set bits, ascending."""
    while bitmap:
        low = bitmap & -bitmap
        yield base + low.bit_length() - 1
        bitmap ^= low


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


class Scoreboard:
    """What each of several children has acknowledged of the packets from `base` on, and what all of them have.

    `base` is the first packet that not all children have acknowledged. The cost of an acknowledgment is that of the
    packets it is news about, however many children there are.
    """

    __slots__ = ("_complete", "_have", "_masks", "base")

    def __init__(self, base: int = 0) -> None:
        self.base = base
        self._masks: dict[int, int] = {}
        self._have: dict[int, int] = {}  # packet -> how many children have it; not for complete ones
        self._complete = 0

    def add_child(self, child: int, first: int | None = None) -> None:
        """From now on packets wait for this child too. It lacks all from `first` on; None: all that are not complete
        yet. A `first` below the base takes the base back.
        """
        if first is None:
            self._masks[child] = self._complete
            return
        if first < self.base:
            back = self.base - first
            for other in self._masks:
                self._masks[other] = self._masks[other] << back | (1 << back) - 1
            self._complete = self._complete << back | (1 << back) - 1
            self.base = first
        below = (1 << first - self.base) - 1
        for seq in bits(self._complete & ~below, self.base):
            self._have[seq] = len(self._masks)
        for seq in bits(below & ~self._complete, self.base):
            self._have[seq] = self._have.get(seq, 0) + 1
        self._complete &= below
        self._masks[child] = below

    def remove_child(self, child: int, end: int) -> int:
        """Packets no longer wait for this child. Returns what that completes (see `acknowledge`), below `end`."""
        for seq in bits(self._masks.pop(child) & ~self._complete, self.base):
            self._have[seq] -= 1
        fresh = 0
        for index in range(max(0, end - self.base)):
            if not self._complete >> index & 1 and self._have.get(self.base + index, 0) == len(self._masks):
                self._have.pop(self.base + index, None)
                fresh |= 1 << index
        self._complete |= fresh
        return fresh

    def acknowledge(self, child: int, cumulative: int, sack: int, end: int) -> int:
        """`child` has all below `cumulative`, and cumulative + 1 + i for each bit i of `sack`; `end` is one more than
        the last packet sent. Returns the packets that all children have now and had not before, as a bitmap above the
        base *before* this call. Call `advance` when done with it. What is said of packets from `end` on is kept for
        `sent`.
        """
        base = self.base
        shift = cumulative - base
        old = self._masks[child]
        mask = old | ((1 << shift) - 1 | sack << shift + 1 if shift >= 0 else sack >> -shift - 1)
        news = mask & ~old
        if not news:
            return 0
        self._masks[child] = mask
        have = self._have
        children = len(self._masks)
        fresh = 0
        news &= ~self._complete
        while news:
            low = news & -news
            news ^= low
            seq = base + low.bit_length() - 1
            count = have.get(seq, 0) + 1
            if count == children and seq < end:
                have.pop(seq, None)
                fresh |= low
            else:
                have[seq] = count
        self._complete |= fresh
        return fresh

    def sent(self, seq: int) -> int:
        """Packet `seq` is among those that were sent now. What that completes, as `acknowledge` returns it."""
        if seq < self.base or self._have.get(seq, 0) < len(self._masks):
            return 0
        fresh = 1 << seq - self.base & ~self._complete
        if fresh:
            self._have.pop(seq, None)
            self._complete |= fresh
        return fresh

    def advance(self) -> int:
        """Move `base` past what is complete; returns by how much."""
        run = trailing_ones(self._complete)
        if run:
            self._complete >>= run
            self.base += run
            for child in self._masks:
                self._masks[child] >>= run
        return run

    def lacking(self, seq: int) -> int:
        """How many children have not acknowledged `seq`."""
        return 0 if self.is_complete(seq) else len(self._masks) - self._have.get(seq, 0)

    def is_complete(self, seq: int) -> bool:
        """Whether all children have `seq`."""
        return seq < self.base or bool(self._complete >> (seq - self.base) & 1)

    def missing(self, child: int) -> int:
        """Bitmap above `base`: what `child` has not, below the highest that it has."""
        mask = self._masks[child]
        return ~mask & ((1 << mask.bit_length()) - 1)

    def has(self, child: int, seq: int) -> bool:
        """Whether `child` has acknowledged `seq`."""
        return seq < self.base or bool(self._masks[child] >> (seq - self.base) & 1)

    def acknowledged(self, child: int) -> int:
        """The first packet that `child` has not acknowledged."""
        return self.base + trailing_ones(self._masks[child])
