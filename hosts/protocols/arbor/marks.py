"""The part of the packets that come marked, smoothed: what a scalable window is cut by (RFC 8257, 3.3)."""

from typing import Final

GAIN: Final = 1 / 16
"""RFC 8257, 4.2: g."""


class Marks:
    """Packets of one receiver."""

    __slots__ = ("_arrived", "_marked", "alpha")

    def __init__(self) -> None:
        self.alpha = 1.0
        """RFC 8257, 3.3: begins with 1."""
        self._arrived = 0
        self._marked = 0

    def arrived(self, marked: bool) -> None:
        """A packet came."""
        self._arrived += 1
        self._marked += marked

    def round_ended(self) -> bool:
        """A round trip is over; whether packets of it were marked."""
        marked = self._marked > 0
        if self._arrived:
            self.alpha += GAIN * (self._marked / self._arrived - self.alpha)
        self._arrived = self._marked = 0
        return marked
