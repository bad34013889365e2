"""The rate at which packets arrive, over some round trip times (2.6)."""

from typing import Final

WINDOW_RTTS: Final = 2.0
"""Measured over so many maximum RTTs ("several", 2.6; ours), and at least from one packet to the next."""


class ReceiveRate:
    """Bytes per second. A packet costs an addition and a comparison."""

    __slots__ = ("_last", "_mark_at", "_mark_bytes", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._mark_at: float | None = None
        self._mark_bytes = 0
        self._last: float | None = None

    def add(self, octets: int, now: float, max_rtt: float) -> None:
        """A packet of so many bytes arrived."""
        self._total += octets
        if self._mark_at is None:
            self._mark_at = now
            self._mark_bytes = self._total
        elif now - self._mark_at >= WINDOW_RTTS * max_rtt:
            self._last = (self._total - self._mark_bytes) / (now - self._mark_at)
            self._mark_at = now
            self._mark_bytes = self._total

    def at(self, now: float, max_rtt: float) -> float:
        """The rate as far as it is known; 0 from a single packet."""
        if self._mark_at is None:
            return 0.0
        elapsed = now - self._mark_at
        current = (self._total - self._mark_bytes) / elapsed if elapsed > 0 else 0.0
        # A window that should have ended: packets have become rare, or the first one is not over yet.
        if self._last is None or elapsed >= 2 * WINDOW_RTTS * max_rtt:
            return current
        return self._last
