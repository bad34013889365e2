"""How long a session's packets wait in queues at this moment, with today's rules (ours).

When the sender sends a packet is known from its number, for a wave falls as all do, within the distance to its next
packet. So arrivals tell how much later a packet is than the earliest ones were, and that is the queue that it has met.
Times are in seconds.
"""

import math
from collections import deque
from typing import Final

LATEST: Final = 4
"""Packets of which the earliest says how long the queue is now (ours)."""
REMEMBERED_SLOTS: Final = 4
"""Time slots in which the earliest packets are looked for, at least (ours)."""
MOST_S: Final = 1.0
"""Longer ones are not believed (ours): a number that is not the sender's, or a sender that was held up."""


class Waiting:
    """Of one receiver's packets."""

    def __init__(self) -> None:
        self._latest = deque[float](maxlen=LATEST)
        self._earliest = self._before = math.inf
        self._slots = 0

    def packet(self, late: float, gap: float) -> None:
        """One has come so much later than it was due, of a wave whose packets are so far apart."""
        self._latest.append(late - gap)
        self._earliest = min(self._earliest, late)

    def slot_changed(self) -> None:
        """A new time slot."""
        self._slots += 1
        if self._slots % REMEMBERED_SLOTS == 0:
            self._before, self._earliest = self._earliest, math.inf

    @property
    def least_s(self) -> float:
        """What comes through the queue now waits for no less."""
        if len(self._latest) < LATEST:
            return 0.0
        return min(max(0.0, min(self._latest) - min(self._earliest, self._before)), MOST_S)
