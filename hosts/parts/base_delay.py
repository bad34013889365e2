"""A path's base delay, which is learnt again: the least delay of the last while, as BBR's filter of round trip times
(draft-ietf-ccwg-bbr, 5.5.9.1).

The delay may be a round trip time or a relative one between two unsynchronised clocks: nothing depends on its origin.
A least that never ages takes a route that has become longer for a queue, for good.
"""

from collections import deque
from math import inf
from typing import Final

WINDOW_S: Final = 10.0
"""BBR's MinRTTFilterLen."""
PARTS: Final = 10
"""Of the window, each with one least delay: so much is kept, however many are measured (ours)."""


class BaseDelay:
    """The least delay, seconds, of the last `window_s` seconds; `inf` keeps the least of all."""

    __slots__ = ("_parts", "least", "window_s")

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self.window_s = window_s
        """The owner may change it: a window of few round trips may have none without a queue."""
        self.least = inf
        """inf before any measurement."""
        self._parts: deque[tuple[float, float]] = deque()  # when, and the least since; ascending in both

    @property
    def least_at(self) -> float:
        """When that was; not of the least of all."""
        return self._parts[0][0] if self._parts else 0.0

    def add(self, delay_s: float, now: float) -> None:
        """A delay was measured. Times do not go back."""
        if self.window_s == inf:
            self.least = min(self.least, delay_s)
            return
        parts = self._parts
        since, part_s = now - self.window_s, self.window_s / PARTS
        if parts and parts[0][0] >= since and delay_s > parts[-1][1] and now - parts[-1][0] < part_s:
            self.least = parts[0][1]
            return  # as nearly all: the newest part has a lesser one, and the oldest is young enough
        while parts and parts[0][0] < since:
            parts.popleft()
        # What is not less than a later one never becomes the least again.
        while parts and delay_s <= parts[-1][1]:
            parts.pop()
        if parts and now - parts[-1][0] < part_s:
            self.least = parts[0][1]
            return
        parts.append((now, delay_s))
        self.least = parts[0][1]
