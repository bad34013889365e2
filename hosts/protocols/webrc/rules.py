"""Where today's rules, the paper's and RFC 3738's differ, as strategies of a receiver's control. Rates are in packets
per second."""

import math
from typing import Final

from hosts.parts.throughput import (
    RENEWED,
    loss_event_rate,
    mixed_interval,
    mixed_loss_event_rate,
    mixed_packets_per_rtt,
    mixed_window,
    packets_per_rtt,
)
from hosts.protocols.webrc.estimators import (
    ALPHA,
    RFC_ALPHA,
    LossEstimator,
    RfcLossEstimator,
    RttEstimator,
    TodayLossEstimator,
)
from hosts.protocols.webrc.loss_times import LossTimes
from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.silence import GIVE_UP_S, SILENCE_S
from hosts.protocols.webrc.today_rtt import TodayRttEstimator
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
LAG_SHARE: Final = 0.05
"""By so much of ARR, beside `LAG_PACKETS`, less arrives when a queue grows (ours): below what a join brings, a third
with P of 0.75, and above what a competitor's queue does to the times of arrival."""


class PaperRules:
    """The paper's: the target rate is limited by what arrives, and RR shows that packets queue."""

    alpha = ALPHA
    """Weight of an MRTT when all are alike."""
    takes_back = False
    """Whether a wave is left before its end (ours)."""
    ends_at_all = True
    """Whether start-up ends where a join could bring no more than all that is sent (3.2)."""
    startup_share = 1.0
    """Of an epoch, that the wave joined last must have come before start-up goes on (3.2: all of it)."""
    heeds_marks = False
    """Whether a packet that a queue has marked is a loss event (ours)."""
    joins_again = False
    """Whether channels are joined again of which nothing comes (ours)."""
    give_up_s = SILENCE_S
    """A sender that is silent for so long, beside its slots, is given up."""

    def __init__(self, waves: Waves, rates: Rates, epoch_s: float) -> None:
        self._waves = waves
        self._rates = rates
        self._epoch_s = epoch_s

    def loss_estimator(self) -> LossEstimator:
        """LOSSP, with the second filter as it is there."""
        return LossEstimator(self._epoch_s / self._waves.slot_s)

    def rtt_estimator(self) -> RttEstimator:
        """ARTT."""
        return RttEstimator(alpha=self.alpha, floor=self._waves.p)

    def equation(self, lossp: float, artt: float, now: float) -> float:
        """REQN, Eq. (6)."""
        return packets_per_rtt(lossp) / artt

    def lossp_at(self, rate: float, artt: float) -> float:
        """The LOSSP that gives this rate."""
        return loss_event_rate(rate, artt, 1.0)

    def loss_event(self, lossp: float, artt: float, now: float) -> float:
        """So many packets are to lie between this loss event and the last one, at least."""
        return 0.0

    def after_startup(self, artt: float, now: float) -> float:
        """The rate that LOSSP is to give when start-up ends (3.2)."""
        return self._rates.trr

    def begins_from(self, rate: float, artt: float) -> None:
        """LOSSP has become what gives this rate."""

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

    def lags(self, share: float = 1.0) -> bool:
        """Whether less arrives, a full epoch after a join, than the channels carry (3.2). `share`: of the epoch, in
        which the wave joined last has come."""
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

    def lags(self, share: float = 1.0) -> bool:
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


class TodayRules(RfcRules):
    """Ours: RFC 3738's target rate, and waves are left as they are joined: by the target rate.

    The paper's limit by what arrives (Eq. (5)) and its wait for a lower RR before each join (3.3) let the rate grow by
    some 10 % a time slot, so that a receiver whom a competitor's losses stopped early stays there for minutes. Here the
    equation alone says how fast the rate grows. What held it in check is: no join while less arrives than is sent, and
    the way back, a leave, which switches do at once."""

    takes_back = True
    ends_at_all = False
    """Nothing has been lost: a TCP whose sender has no more to send does not slow down, either."""
    startup_share = 0.5
    """A join an epoch, where the round trip takes half of one at most: what is missing of the new wave is known."""
    heeds_marks = True
    joins_again = True
    give_up_s = GIVE_UP_S

    def __init__(self, waves: Waves, rates: Rates, epoch_s: float) -> None:
        super().__init__(waves, rates, epoch_s)
        self._event_at = -math.inf  # the last loss event's time
        self._times = LossTimes()

    def loss_estimator(self) -> LossEstimator:
        """What the receiver can follow at once."""
        return TodayLossEstimator(self._epoch_s / self._waves.slot_s)

    def rtt_estimator(self) -> RttEstimator:
        """What tells waves that others have joined from those that a receiver opens."""
        return TodayRttEstimator(alpha=self.alpha, floor=self._waves.p, lasts_s=self._waves.slot_s)

    def equation(self, lossp: float, artt: float, now: float) -> float:
        """What a Reno and a CUBIC would have on average: with a loss event in so many packets, as LOSSP says, where
        chance takes them; every so many seconds, where others' queues do. Nobody says which. Where the seconds allow
        more it is in between: the geometric mean."""
        by_packets = mixed_packets_per_rtt(lossp, artt)
        by_seconds = mixed_window(self._times.mean(now - self._event_at), artt)
        return math.sqrt(by_packets * max(by_packets, by_seconds)) / artt

    def lossp_at(self, rate: float, artt: float) -> float:
        """As a Reno and a CUBIC have it on average."""
        return mixed_loss_event_rate(rate, artt, 1.0)

    def loss_event(self, lossp: float, artt: float, now: float) -> float:
        """A loss event: the packets between two of them, at least, that TCP would have at its mean rate from here on,
        if the rate came from the time since the last event and not from what was counted; else 0."""
        grown = self.equation(lossp, artt, now) * artt > mixed_packets_per_rtt(lossp, artt)
        self._times.event(now - self._event_at)
        self._event_at = now
        return 1 / self.lossp_at(RENEWED * self.arriving, artt) if grown else 0.0

    def after_startup(self, artt: float, now: float) -> float:
        """As after a loss event."""
        rate = RENEWED * self.arriving
        self._event_at = now
        self.begins_from(rate, artt)
        return rate

    def begins_from(self, rate: float, artt: float) -> None:
        """As if loss events had come as often as gives this rate."""
        self._times.begin(mixed_interval(rate * artt, artt))

    @property
    def arriving(self) -> float:
        """What comes through, packets/s: no more than the channels carry."""
        rates = self._rates
        return min(rates.arr, max(rates.rr, rates.trr))

    def longest_wait(self) -> float:
        """As the paper's: the sender is within a packet of the fluid."""
        return PaperRules.longest_wait(self)

    def lags(self, share: float = 1.0) -> bool:
        """Whether a queue grows: less arrives than the channels carry, beyond what chance and others' queues do."""
        rates = self._rates
        brought = 1 - 1 / gamma(rates.waves_joined - 1, self._waves.p) if rates.waves_joined else 0.0
        carried = rates.arr * (1 - (1 - share) * brought)
        return rates.rr < carried * (1 - LAG_SHARE) - LAG_PACKETS / self._epoch_s


RULES: Final = {"today": TodayRules, "paper": PaperRules, "rfc": RfcRules}
"""By the name that the parameter `rules` has for them."""
