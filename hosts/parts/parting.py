"""How a sender goes when the last receiver has confirmed the stream: it says so to the group a few times, and is gone.

A receipt may be lost, and its receiver would repeat its FIN to nobody for seconds. Who waits for a receipt takes these
words for it; who misses all of them still ends as it would have, when its tries are used up.
"""

from typing import Final

from hosts.wire.farewell import ABORT_COPIES

INTERVAL_S: Final = 0.05
"""Between two of them, so that one burst of losses does not take all; a FIN that was on its way meanwhile is answered
(ours: with these the sender is gone 0.15 s after the last confirmation)."""


class Parting:
    """Of one sender. Times in seconds on its clock."""

    def __init__(self, now: float) -> None:
        self.at = now
        """When something is to be done next."""
        self._left = ABORT_COPIES

    @property
    def is_over(self) -> bool:
        """Whether all has been said."""
        return self._left < 0

    def says(self, now: float) -> bool:
        """Whether to say it (again) now."""
        if now < self.at:
            return False
        self.at = now + INTERVAL_S
        self._left -= 1
        return self._left >= 0
