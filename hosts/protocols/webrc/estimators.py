"""What a WEBRC receiver estimates: loss event rate and multicast RTT (Appendix; RFC 3738, 3.2.2.1 and 2)."""

import math
from collections import deque
from typing import Final

NU: Final = 0.3
"""Weight of the filter over time, per time slot (RFC 3738, 3.2.2.1)."""
DELTA: Final = 0.3
"""Weight of the filter over loss events (RFC 3738, 3.2.2.1)."""
ALPHA: Final = 0.125
"""Weight of an MRTT when all are alike: the Appendix's "small" constant (ours: TCP's for its round trip time). With RFC
3738's, receivers that take turns in opening the waves (4.5) overshoot each other, and share less than in Fig. 10."""
RFC_ALPHA: Final = 0.25
"""RFC 3738, 3.2.2.2."""
_REMEMBERED: Final = 100
"""Measurements whose precision counts (ours): a thousand seconds and more."""
LEAST_OMEGA: Final = 1e-9
"""Times the number of measurements; below it the weights are all the same, to double precision."""
MOST_LOST: Final = 0.5
"""Of the packets, for all that ARTT believes (ours): a burst is no measure of what is lost at a join."""
LEAST_RTT_S: Final = 1e-4
"""Below this times of ordinary machines are noise (ours)."""


class LossEstimator:
    """LOSSP: two filters one after the other. Losses come in bursts after joins, so a fraction of what has been counted
    passes through the first into the second with every epoch; the second weighs loss events, as TFRC's does.

    The second is the Appendix's, F = (1 - delta m) (F + delta) with each packet, m the smoothed share of loss events.
    """

    def __init__(self, epoch_share: float) -> None:
        """`epoch_share`: EL / TSD."""
        self._g = NU * epoch_share
        self._w = 0.0  # packets since the last loss event began
        self._x = 0.0  # packets before it that are not filtered in yet
        self._y = 0.0  # loss events likewise
        self._z = 1.0  # long-term estimate of 1 / LOSSP
        self.lossp = 1.0
        """The estimated loss event rate, in (0, 1]; as of the last epoch or reset."""

    def reset(self, lossp: float) -> None:
        """Begin again from a given rate."""
        self._w = self._x = self._y = 0.0
        self._z = 1 / lossp
        self.lossp = lossp

    def rescale(self, lossp: float) -> None:
        """Go on from a given rate with as many loss events as before: all intervals between them change alike."""
        factor = self.lossp / lossp
        self._w *= factor
        self._x *= factor
        self._z *= factor
        self.lossp = lossp

    def packets(self, count: int) -> None:
        """So many packets were received or lost."""
        self._w += count

    def loss_event(self, at_least: float = 0.0) -> None:
        """A loss event begins, so many packets after the last one at least (ours, with today's rules)."""
        self._w = max(self._w, at_least)
        self._x += self._w
        self._w = 0.0
        self._y += 1

    def epoch(self) -> None:
        """An epoch is over."""
        g = self._g
        self._z = self._filtered(g * self._x, g * self._y)
        self._x *= 1 - g
        self._y *= 1 - g
        self.lossp = 1 / max(self._interval(), 1.0)

    def _interval(self) -> float:
        """1 / LOSSP: with what is not through the first filter yet."""
        known = self._filtered(self._x, self._y)
        following = self._filtered(self._x + self._w + 1, self._y + 1)  # were the next packet lost
        return max(known, following)

    def _filtered(self, packets: float, events: float) -> float:
        if events == 0:
            return self._z + DELTA * packets
        keep = 1 - DELTA * min(1.0, events / packets)
        kept: float = keep**packets
        return self._z * kept + packets / events * keep * (1 - kept)


class RfcLossEstimator(LossEstimator):
    """RFC 3738's second filter: (1 - delta)^E, and P / (E + 1) of P packets with E loss events between two of them.

    That is right for whole loss events, but with the small fractions of one that pass at an epoch it tends to 0.84 of
    1 / LOSSP, and with few loss events in a time slot LOSSP is up to a tenth too large."""

    def _filtered(self, packets: float, events: float) -> float:
        keep = 1 - DELTA
        kept: float = keep**events
        return self._z * kept + packets / (events + 1) * (1 - kept * keep)


class TodayLossEstimator(RfcLossEstimator):
    """RFC 3738's, in which a loss event counts when it begins, not at the next epoch: a wave can be left at any time
    (ours)."""

    def loss_event(self, at_least: float = 0.0) -> None:
        """At once."""
        super().loss_event(at_least)
        self.lossp = 1 / max(self._interval(), 1.0)


class RttEstimator:
    """ARTT: a moving average whose weight adjusts itself to how much the measurements vary (Appendix), the first ones
    counting for more (RFC 3738).

    A measurement is off by the wait for a packet of its wave; the mean wait is taken off, so it can be negative. The
    slower the waves, the longer the waits: a second at first, where round trips may be a fiftieth of it. So a
    measurement counts for no less than its share of what is known so far, each weighed by the inverse of its variance,
    as the gaps between packets have it (ours). With RFC 3738's weights alone a near receiver's first measurements leave
    ARTT far too small or too large for a hundred seconds and more.

    The very first, of the base channel, waits for a packet for about a second: an overestimate of great variance
    (5.1.1). It stands until waves have been measured and is no part of the average (ours), whose weight it would keep
    small for hundreds of seconds."""

    def __init__(self, *, floor: float, alpha: float = ALPHA) -> None:
        """`alpha`: the weight when all measurements are alike, in (0, 1). `floor`: no measurement makes ARTT less than
        this share of what it was; an MRTT less the mean wait for a packet can be negative."""
        self._alpha = alpha
        self._floor = floor
        self._mean = 0.0
        self._square = 0.0
        self._count = 0
        self._variances: deque[float] = deque(maxlen=_REMEMBERED)  # of the measurements, by the gaps
        self.artt: float | None = None
        """Seconds; None before the first measurement."""

    def begin(self, mrtt: float) -> None:
        """The base channel's measurement, seconds."""
        self.artt = max(mrtt, LEAST_RTT_S)

    def update(self, measured: float, gap: float = 0.0, lost: float = 0.0, at: float = 0.0) -> float:
        """Take a wave's measurement, seconds, after the base channel's; ARTT now. `gap`: the time between two of the
        wave's packets; `lost`: the share of packets that are lost."""
        assert self.artt is not None
        self._count += 1
        # A wait is evenly distributed over the gap, and there is one gap more for each packet that is lost before the
        # first one comes.
        lost = min(lost, MOST_LOST)
        mrtt = measured - gap * (1 / 2 + lost / (1 - lost))
        self._variances.append(gap * gap * (1 / 12 + lost / (1 - lost) ** 2))
        weight = max(self._weight(), self._share())
        self._mean += weight * (mrtt - self._mean)
        self._square += weight * (mrtt * mrtt - self._square)
        self.artt = max(self._floor * self.artt, self._mean, LEAST_RTT_S)
        return self.artt

    def look(self, now: float) -> None:
        """At any time: what was measured may be of another one."""

    def _weight(self) -> float:
        """Of the newest measurement if all are alike: all of it for the first one, Omega in the long run."""
        omega = self._alpha * self._mean * self._mean / self._square if self._square > 0 else 0.0
        if omega * self._count < LEAST_OMEGA:
            return 1 / self._count
        return omega / (1 - (1 - omega) ** self._count)

    def _share(self) -> float:
        """Of the newest measurement in what is known. Errors well below ARTT are no matter of gaps, and all alike."""
        assert self.artt is not None
        tolerated = self.artt * self.artt
        precisions = [1 / (variance + tolerated) for variance in self._variances]
        return precisions[-1] / math.fsum(precisions)

    @property
    def join_timeout(self) -> float:
        """Seconds without a packet after which a join has failed (RFC 3738, 3.2.3.7)."""
        if self.artt is None:
            return float("inf")
        return max(2 * self._square / self.artt, 10 * self.artt)
