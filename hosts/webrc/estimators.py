"""What a WEBRC receiver estimates: loss event rate and multicast RTT (Appendix; RFC 3738, 3.2.2.1 and 2)."""

from typing import Final

NU: Final = 0.3
"""Weight of the filter over time, per time slot (RFC 3738, 3.2.2.1)."""
DELTA: Final = 0.3
"""Weight of the filter over loss events (RFC 3738, 3.2.2.1)."""
ALPHA: Final = 0.25
"""Weight of an MRTT when all are alike (RFC 3738, 3.2.2.2)."""
LEAST_RTT_S: Final = 1e-4
"""Below this times of ordinary machines are noise (ours)."""


class LossEstimator:
    """LOSSP: two filters one after the other. Losses come in bursts after joins, so a fraction of what has been counted
    passes through the first into the second with every epoch; the second weighs loss events, as TFRC's does."""

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

    def packets(self, count: int) -> None:
        """So many packets were received or lost."""
        self._w += count

    def loss_event(self) -> None:
        """A loss event begins."""
        self._x += self._w
        self._w = 0.0
        self._y += 1

    def epoch(self) -> None:
        """An epoch is over."""
        g, keep = self._g, 1 - DELTA
        self._z = self._filtered(g * self._x, g * self._y)
        self._x *= 1 - g
        self._y *= 1 - g
        known = self._filtered(self._x, self._y)
        x, y = self._x + self._w + 1, self._y + 1  # were the next packet lost
        following = self._z * keep**y + x / (y + 1) * (1 - keep ** (y + 1))
        self.lossp = 1 / max(known, following, 1.0)

    def _filtered(self, packets: float, events: float) -> float:
        keep = 1 - DELTA
        kept: float = keep**events
        return self._z * kept + packets / (events + 1) * (1 - kept * keep)


class RttEstimator:
    """ARTT: a moving average whose weight adjusts itself to how much the measurements vary.

    The first measurements count for more (RFC 3738): the very first waits for a packet of the base channel, about a
    second, and the Appendix's weight alone, made small by that outlier's square, remembers it for hundreds of seconds.
    """

    def __init__(self, *, floor: float) -> None:
        """`floor`: no measurement makes ARTT less than this share of what it was; an MRTT less the mean wait for a
        packet can be negative."""
        self._floor = floor
        self._square = 0.0
        self._count = 0
        self.artt: float | None = None
        """Seconds; None before the first measurement."""

    def update(self, mrtt: float) -> float:
        """Take a measurement, seconds; ARTT now."""
        if self.artt is None:
            self.artt = max(mrtt, LEAST_RTT_S)
            self._square = self.artt * self.artt
            return self.artt
        self._count += 1
        weight = ALPHA * self.artt * self.artt / self._square
        weight /= 1 - (1 - weight) ** (self._count + 1)
        self._square = (1 - weight) * self._square + weight * mrtt * mrtt
        self.artt = max(self._floor * self.artt, (1 - weight) * self.artt + weight * mrtt, LEAST_RTT_S)
        # The mean square is no less than the square of the mean, also where the floor has lifted the mean.
        self._square = max(self._square, self.artt * self.artt)
        return self.artt

    @property
    def join_timeout(self) -> float:
        """Seconds without a packet after which a join has failed (RFC 3738, 3.2.3.7)."""
        if self.artt is None:
            return float("inf")
        return max(2 * self._square / self.artt, 10 * self.artt)
