"""How often loss events come, in seconds (ours, with today's rules).

What others lose by, or a queue that they fill, comes by their clock and not with one's own packets: a receiver with few
packets loses one in fewer of them. LOSSP, which counts packets over half a minute, holds it down for minutes.
"""

from collections import deque
from typing import Final

WEIGHTS: Final = (1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2)
"""Of the last intervals, the newest first (RFC 5348, 5.4)."""


class LossTimes:
    """Of one receiver. Times in seconds."""

    def __init__(self) -> None:
        self._intervals: deque[float] = deque(maxlen=len(WEIGHTS))  # the newest first

    def begin(self, interval: float) -> None:
        """Forget all; as if there had been one interval like this."""
        self._intervals.clear()
        self._intervals.append(interval)

    def event(self, elapsed: float) -> None:
        """A loss event, so long after the last one; nothing before `begin`."""
        if self._intervals:
            self._intervals.appendleft(elapsed)

    def mean(self, elapsed: float) -> float:
        """Of the intervals; with the one that has lasted for `elapsed` so far, where that makes it longer (RFC 5348,
        5.4). 0 before `begin`."""
        if not self._intervals:
            return 0.0
        known = list(self._intervals)
        return max(_mean(known), _mean([elapsed, *known]))


def _mean(intervals: list[float]) -> float:
    pairs = list(zip(WEIGHTS, intervals, strict=False))
    return sum(weight * interval for weight, interval in pairs) / sum(weight for weight, _ in pairs)
