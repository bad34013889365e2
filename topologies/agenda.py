"""What is done in a run, by time: in a simulation, between two of these moments the simulator runs on its own."""

import heapq
from collections.abc import Callable
from typing import TypeAlias

Action: TypeAlias = Callable[[float], None]
"""Given the time, seconds."""


class Agenda:
    """Actions by time; those of the same time come in the order in which they were added."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the run began; an action finds its own time here."""
        self._heap: list[tuple[float, int, Action]] = []
        self._added = 0

    def at(self, time: float, action: Action) -> None:
        """Have `action` done at `time`, or now if that has passed."""
        heapq.heappush(self._heap, (max(time, self.now), self._added, action))
        self._added += 1

    def after(self, delay: float, action: Action) -> None:
        """Have `action` done in `delay` seconds."""
        self.at(self.now + delay, action)

    def every(self, interval: float, action: Action, *, start: float = 0.0) -> None:
        """Have `action` done at `start` and then every `interval` seconds.

        Times are multiples of the interval, not sums of it: rounding errors do not add up. Times that were missed, as
        may be in real time, are left out."""

        def tick(count: int) -> None:
            action(self.now)
            count += 1
            while start + count * interval < self.now:
                count += 1
            self.at(start + count * interval, lambda _: tick(count))

        self.at(start, lambda _: tick(0))

    @property
    def next_at(self) -> float:
        """When the next action is due; infinite when there is none."""
        return self._heap[0][0] if self._heap else float("inf")

    def run_due(self, now: float) -> None:
        """Do all that is due at `now`, what that adds for the same time included."""
        self.now = now
        while self._heap and self._heap[0][0] <= now:
            _, _, action = heapq.heappop(self._heap)
            action(now)
