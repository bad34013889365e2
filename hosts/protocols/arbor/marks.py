"""The part of the packets that come marked, smoothed: what a scalable window is cut by (RFC 8257, 3.3). As Linux's
tcp_prague has it: nothing is known before the first mark, which halves the window; from then on it counts, from 0.
"""

from typing import Final

GAIN: Final = 1 / 16
"""RFC 8257, 4.2: g."""


class Marks:
    """Packets of one receiver."""

    __slots__ = ("_arrived", "_marked", "alpha")

    def __init__(self) -> None:
        self.alpha: float | None = None
        self._arrived = 0
        self._marked = 0

    def share(self) -> float:
        """What half of a window is to be cut by: everything the first time."""
        if self.alpha is None:
            self.alpha = 0.0
            return 1.0
        return self.alpha

    def arrived(self, marked: bool, packets: int = 1) -> None:
        """Packets came, all of them marked or none."""
        self._arrived += packets
        self._marked += packets * marked

    def round_ended(self) -> bool:
        """A round trip is over; whether packets of it were marked."""
        marked = self._marked > 0
        if self._arrived and self.alpha is not None:
            self.alpha += GAIN * (self._marked / self._arrived - self.alpha)
        self._arrived = self._marked = 0
        return marked
