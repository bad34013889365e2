"""ARTT with today's rules (ours): of what receivers behind one bottleneck measure, what tells its round trip time.

A wave that another receiver has joined flows already at a router on the way, and its first packet comes much sooner
than through the bottleneck. Which join was such a one nobody says. A receiver that mostly follows others would have a
round trip time of nearly nothing, and by the equation all of the session; one whose join came when the queue was full
for once, a long one, and be held back by it for as long as it opens no other wave.

So a measurement counts when it may have been of a wave that was opened: when it is not less than half of what others
of the last ones show that the way takes.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from hosts.protocols.webrc.estimators import LEAST_RTT_S, MOST_LOST, RttEstimator

FLOWS_ALREADY: Final = 0.5
"""Of what the way takes: a first packet that comes sooner is of a wave that others had joined, which adds nothing to
what they share (ours)."""
REMEMBERED: Final = 16
"""Measurements (ours): with two of them opened a receiver knows the way, and ARTT is a mean of as many as a weight of
1/8 has."""
_BOUNDING: Final = 4
"""Measurements that bound ARTT where packets are farther apart than a round trip takes (ours): with more a queue that
has grown is seen too late."""


class _Measured(NamedTuple):
    """Of a join; seconds."""

    most: float
    """It took no longer than that."""
    gap: float
    """Between packets that came: so much of it at most was a wait."""
    mrtt: float
    """Less the mean wait."""
    variance: float
    at: float

    @property
    def least(self) -> float:
        return self.most - self.gap


class TodayRttEstimator(RttEstimator):
    """Where packets are farther apart than a round trip takes, the shortest of the last measurements, which are all too
    long, is ARTT: the mean of what are mostly waits would keep a slow receiver slow. But none was too long by more than
    its gap."""

    def __init__(self, *, floor: float, alpha: float, lasts_s: float) -> None:
        """`lasts_s`: so long a queue that a measurement has seen is believed to be there."""
        super().__init__(floor=floor, alpha=alpha)
        self._lasts_s = lasts_s
        self._latest: deque[_Measured] = deque(maxlen=REMEMBERED)
        self._bounding: Sequence[_Measured] = ()
        """Empty: the last measurement was precise enough."""

    def update(self, measured: float, gap: float = 0.0, lost: float = 0.0, at: float = 0.0) -> float:
        """As `RttEstimator`'s, whose average the time-out of joins is made from."""
        assert self.artt is not None
        before = self.artt
        super().update(measured, gap, lost, at)
        lost = min(lost, MOST_LOST)
        variance = gap * gap * (1 / 12 + lost / (1 - lost) ** 2)
        self._latest.append(
            _Measured(measured, gap / (1 - lost), measured - gap * (1 / 2 + lost / (1 - lost)), variance, at)
        )
        opened = self._opened()
        bounding = opened[-_BOUNDING:]
        if gap > min(one.most for one in bounding):
            self._bounding = bounding
            self.look(at)
        else:
            self._bounding = ()
            tolerated = before * before
            weights = [1 / (one.variance + tolerated) for one in opened]
            mean = math.fsum(weight * one.mrtt for weight, one in zip(weights, opened, strict=True)) / math.fsum(
                weights
            )
            self.artt = max(self._floor * before, mean, LEAST_RTT_S)
        return self.artt

    def _opened(self) -> Sequence[_Measured]:
        """The measurements that may be of waves that were opened. The longest alone shows nothing: first packets may
        have been lost."""
        shown = sorted(one.least for one in self._latest)[-2:][0]
        return [one for one in self._latest if one.most >= FLOWS_ALREADY * shown]

    def look(self, now: float) -> None:
        """At any time: a queue that a measurement has seen is of that time."""
        if self._bounding:
            seen = [one.least for one in self._bounding if now - one.at <= self._lasts_s]
            self.artt = max(min(one.most for one in self._bounding), *seen, LEAST_RTT_S)
