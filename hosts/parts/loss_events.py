"""How often losses come, that is whether they are more than links lose of their own.

A window that keeps its queue short overflows none, and causes few losses. Many are those of a queue that somebody else
fills, or that is shorter than a short one; waits do not show either.
"""

from typing import Final

from hosts.parts.adaptive import FEW_LOSSES

LEAST_EVENTS: Final = 4
"""Fewer are chance (ours)."""
MEMORY: Final = 256
"""Packets, after which half of what was seen counts (ours: so many have more than LEAST_EVENTS that are FEW_LOSSES)."""


class LossEvents:
    """Losses in one round trip are one event."""

    __slots__ = ("_events", "_packets")

    def __init__(self) -> None:
        self._packets = 0.0
        self._events = 0.0

    def arrived(self, packets: int) -> None:
        """So many more."""
        self._packets += packets
        if self._packets >= MEMORY:
            self._packets /= 2
            self._events /= 2

    def lost(self) -> None:
        """In one round trip."""
        self._events += 1

    def forget(self) -> None:
        """A window that doubles causes losses of its own."""
        self._packets = self._events = 0.0

    @property
    def are_heavy(self) -> bool:
        """Whether there are too many to be the links' own."""
        return self._events >= max(LEAST_EVENTS, FEW_LOSSES * self._packets)
