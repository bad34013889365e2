"""Where the paper and RFC 3738 differ, as two strategies of a receiver's control. Rates are in packets per second."""

import math
from typing import Final

from hosts.protocols.webrc.estimators import ALPHA, RFC_ALPHA, LossEstimator, RfcLossEstimator
from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.waves import Waves, gamma

STARTUP_EXPONENT: Final = 3.0
"""Of Gamma, before TRR, in Eq. (5) during start-up (3.2)."""
STEADY_EXPONENT: Final = 1.5
"""Eq. (5)."""
LAG_PACKETS: Final = 3.0
"""By so many packets of an epoch RR is less than ARR when it lags: three standard deviations of what whole packets make
of the fluid (ours)."""
RFC_STARTUP_FACTOR: Final = 4.0
"""RFC 3738, 3.2.2.7."""


class PaperRules:
    """The paper's: the target rate is limited by what arrives, and RR shows that packets queue."""

    alpha = ALPHA
    """Weight of an MRTT when all are alike."""

    def __init__(self, waves: Waves, rates: Rates, epoch_s: float) -> None:
        self._waves = waves
        self._rates = rates
        self._epoch_s = epoch_s

    def loss_estimator(self) -> LossEstimator:
        """LOSSP, with the second filter as it is there."""
        return LossEstimator(self._epoch_s / self._waves.slot_s)

    def longest_wait(self) -> float:
        """Seconds that the next packet of the wave joined last may take: more is a queue's doing (3.2).

        Of the joined waves this one has so much of the rate. A sender that is within one packet of the fluid leaves
        less than two gaps between two packets of a channel."""
        p = self._waves.p
        return 2 * (1 - p ** (self._rates.waves_joined + 1)) / (1 - p) / self._rates.arr

    def limit(self, *, starting_up: bool) -> float:
        """What TRATE is at most, but for MRR (Eq. (5))."""
        grown = gamma(self._rates.waves_joined, self._waves.p)
        return float(grown ** (STARTUP_EXPONENT if starting_up else STEADY_EXPONENT) * self._rates.trr)

    def reaches_all(self, trate: float) -> bool:
        """Whether the next wave is joined though ARR would not allow it: the target is all that is sent."""
        return False

    def lags(self) -> bool:
        """Whether less arrives, a full epoch after a join, than the channels carry (3.2)."""
        return self._rates.rr < self._rates.arr - LAG_PACKETS / self._epoch_s

    def fits(self, most_rr: float) -> bool:
        """Whether the reception rate has fallen by so much that the slot after a join brings no more than has come
        through, `most_rr` since the last one (ours: 3.3's margin, by Eq. (7): a slot's mean is (1 - P) / ln(1/P) of
        what it begins with). Joining as soon as a queue is empty fills it with more than it held the time before."""
        p = self._waves.p
        brought = gamma(self._rates.waves_joined, p) * (1 - p) / math.log(1 / p)
        return self._rates.rr <= max(1 / brought, p) * most_rr


class RfcRules(PaperRules):
    """RFC 3738's: no limit but 4 TRR in start-up, TRR shows that packets queue, and the thresholds are others."""

    alpha = RFC_ALPHA

    def loss_estimator(self) -> LossEstimator:
        """RFC 3738, 3.2.2.1."""
        return RfcLossEstimator(self._epoch_s / self._waves.slot_s)

    def longest_wait(self) -> float:
        """RFC 3738, 3.2.2.6."""
        p = self._waves.p
        return (1 - p ** (self._rates.waves_joined + 1)) / (p * math.log(1 / p)) / self._rates.arr

    def limit(self, *, starting_up: bool) -> float:
        """RFC 3738, 3.2.2.7."""
        return RFC_STARTUP_FACTOR * self._rates.trr if starting_up else math.inf

    def reaches_all(self, trate: float) -> bool:
        """At a constant total rate no join can bring more than that (RFC 3738, 3.2.3.6; the paper does not ask)."""
        return trate >= self._waves.session_rate

    def lags(self) -> bool:
        """By what TRR should be of ARR a full epoch after a join (RFC 3738, 3.2.2.6: c)."""
        p, rates = self._waves.p, self._rates
        zeta = rates.zeta[0]
        risen = math.pow(p, -self._epoch_s / self._waves.slot_s)
        grown = gamma(rates.waves_joined - 1, p)
        share = zeta + (1 - zeta) * risen * (zeta + (1 - zeta) * math.sqrt(p) * risen) / grown
        return rates.trr < share * rates.arr - 2 / self._epoch_s

    def fits(self, most_rr: float) -> bool:
        """RFC 3738 has no such margin."""
        return True


RULES: Final = {"paper": PaperRules, "rfc": RfcRules}
"""By the name that the parameter `rules` has for them."""
