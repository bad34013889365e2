"""The part of the packets that come marked, smoothed: what a scalable window is cut by (RFC 8257, 3.3). As Linux's
tcp_prague has it: nothing is known before the first mark, which halves the window; from then on it counts, from 0.

And which part of the marks is for others' sake: in a DualPI2 queue classic packets wait by themselves, and how long
they do so marks L4S packets, too (RFC 9332, 2.4: coupling), which have hardly waited then.
"""

from math import inf
from typing import Final

GAIN: Final = 1 / 16
"""RFC 8257, 4.2: g."""
OWN_WAIT_S: Final = 0.0008
"""A packet that waited for less is not marked for its own queue's sake (RFC 9332, appendix A.1: minTh)."""


class Marks:
    """Packets of one receiver."""

    __slots__ = ("_arrived", "_marked", "alpha", "coupled")

    def __init__(self) -> None:
        self.alpha: float | None = None
        self.coupled = 0.0
        """The part of the marks of late that are for others' sake, 0..1."""
        self._arrived = 0
        self._marked = 0

    def share(self) -> float:
        """What half of a window is to be cut by: everything the first time."""
        if self.alpha is None:
            self.alpha = 0.0
            return 1.0
        return self.alpha

    def arrived(self, marked: bool, packets: int = 1, waiting: float = inf) -> None:
        """Packets came, all of them marked or none, after `waiting` seconds in queues."""
        self._arrived += packets
        if marked:
            self._marked += packets
            self.coupled += GAIN * ((waiting < OWN_WAIT_S) - self.coupled)

    def round_ended(self) -> bool:
        """A round trip is over; whether packets of it were marked."""
        marked = self._marked > 0
        if self._arrived and self.alpha is not None:
            self.alpha += GAIN * (self._marked / self._arrived - self.alpha)
        self._arrived = self._marked = 0
        return marked
