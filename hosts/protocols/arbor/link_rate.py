"""What the link carries after the queue in which packets wait longest, as its switch tells it: whether it has become
slower.

A TCP finds that out when the queue is full. A switch sees it in the next packet: one that waited left when the link was
done with the one before.
"""

from collections import deque
from typing import Final

from hosts.protocols.arbor.packets import ToldData

SAMPLES: Final = 5
"""Whose median counts (ours)."""
LEAST_BYTES: Final = 512
"""A shorter packet takes so few of a switch's microseconds that they say little (ours)."""
SLOWER: Final = 0.75
"""Of what the link carried: more than a link's own ups and downs (ours)."""
GAIN: Final = 1 / 16
"""A sample's, of what the link usually takes (ours)."""
PATIENCE: Final = 0.8
"""Packets do not come faster than the link sends them, but for what hosts' timers make of it (ours)."""
_MICRO: Final = 1e-6


class LinkRate:
    """As one receiver hears of it. A switch that tells untruths can make it deaf, or cost a window once."""

    __slots__ = ("_at", "_recent", "_usual")

    def __init__(self) -> None:
        self._at = 0  # whose queue: the number of a switch on the way
        self._usual = 0.0  # microseconds a byte; 0: not known
        self._recent: deque[tuple[float, int, float]] = deque(maxlen=SAMPLES)

    def add(self, told: ToldData, size: int, now: float) -> float:
        """A packet of `size` bytes on the link has come. What is left of the rate that the link had, when that has just
        become known; else 1.
        """
        if told.gap_us == 0 or told.gap_bytes < LEAST_BYTES:
            return 1.0
        recent = self._recent
        if told.at != self._at:
            self._at, self._usual = told.at, 0.0
            recent.clear()
        recent.append((now, size, told.gap_us / told.gap_bytes))
        if len(recent) < SAMPLES:
            return 1.0
        takes = sorted([sample[2] for sample in recent])[SAMPLES // 2]
        came = sum([sample[1] for sample in recent]) - recent[0][1]
        if now - recent[0][0] < PATIENCE * takes * came * _MICRO:
            return 1.0  # that cannot be: what comes has passed the link
        usual = self._usual
        if usual > SLOWER * takes and takes > SLOWER * usual:
            self._usual += GAIN * (takes - usual)
            return 1.0
        self._usual = takes
        if usual == 0 or takes < usual:
            return 1.0
        recent.clear()
        return usual / takes
