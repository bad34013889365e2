"""How fast another host's clock gains on one's own, from the delays of packets between the two.

A one-way delay between two clocks is the path's delay plus their offset; the smallest ones follow the offset alone. The
line below all of them that comes closest is the edge of their lower convex hull over their mean time (Moon, Skelly and
Towsley 1999). The packets should be of the direction without queues: one that only ever grows looks like a fast clock.
"""

from collections import deque
from itertools import pairwise
from typing import Final

SAMPLES: Final = 150
"""Delays remembered: five minutes at one in two seconds (ours)."""
MAX_SKEW: Final = 400e-6
"""Twice what two clocks of 100 ppm each can differ: more is the network's (ours)."""


LEAST_SPAN_S: Final = 10.0
"""Over less time than that clocks are taken to run alike: jitter of a millisecond would be 100 ppm (ours)."""


class ClockSkew:
    """Tracks one other clock. Times and offsets are seconds."""

    __slots__ = ("_gained", "_line", "_samples", "_since")

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)
        self._line: tuple[float, float, float] | None = None  # at a time, the offset and its slope
        self._gained = 0.0  # before the samples began
        self._since = 0.0  # the line's offset where the counting began

    def add(self, time: float, offset: float) -> None:
        """At `time` the other clock was ahead by `offset`, plus some delay that is never less than a fixed one."""
        first = self._line is None
        self._samples.append((time, offset))
        self._line = self._fit()
        if first:
            self._since = offset

    def restart(self, time: float) -> None:
        """From now on the samples take another path, with another fixed delay."""
        self._gained = self.gained(time)
        self._samples.clear()
        self._line = None

    def offset(self, time: float) -> float | None:
        """The other clock's lead at a time, up to a constant; None before the first sample."""
        if self._line is None:
            return None
        at, offset, slope = self._line
        return offset + slope * (time - at)

    @property
    def slope(self) -> float:
        """By how much the other clock gains on one's own in a second, -MAX_SKEW..MAX_SKEW; 0 while unknown."""
        return 0.0 if self._line is None else self._line[2]

    def gained(self, time: float) -> float:
        """By how much the other clock has gained on one's own since the first sample."""
        offset = self.offset(time)
        return self._gained if offset is None else self._gained + offset - self._since

    def _fit(self) -> tuple[float, float, float]:
        hull: list[tuple[float, float]] = []
        total = 0.0
        for point in self._samples:
            total += point[0]
            while len(hull) > 1 and _turns_down(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        if hull[-1][0] - hull[0][0] < LEAST_SPAN_S:
            return hull[0][0], min(offset for _, offset in hull), 0.0
        mean = total / len(self._samples)
        for before, after in pairwise(hull):
            if after[0] >= mean:
                slope = (after[1] - before[1]) / (after[0] - before[0]) if after[0] > before[0] else 0.0
                slope = max(-MAX_SKEW, min(MAX_SKEW, slope))
                middle = (before[0] + after[0]) / 2
                ends = (offset - slope * (time - middle) for time, offset in (before, after))
                return middle, min(ends), slope
        return (*hull[-1], 0.0)


def _turns_down(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies above the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
