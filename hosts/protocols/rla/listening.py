"""The random listening algorithm's window (RLA, 3.3, rules 3 to 5; 5.3 for different round trip times).

With `rules: tcp` the window grows and is cut as CUBIC's (RFC 9438), and slow start ends when a receiver's round trips
get longer (HyStart++, RFC 9406), before queues overflow. With `rules: paper` it grows by one packet a round trip and is
halved, and slow start ends with the first cut.

The paper draws a number for each signal. When a queue that is common to n receivers overflows, all n signal, and one of
n draws cuts on average: in 37 % of the cases none does, in 26 % several; and until all n have been heard much more is
lost. With `rules: tcp` a congestion event, which is all that was lost of what was sent before its first signal was
heard, cuts at most once. What m of n lose cuts in m of n such events, as on average by the paper, and m is estimated
from the few receivers that are heard next.

Three things more differ with `rules: tcp`, for CUBIC's window grows with the third power of the time without a cut, and
there is no bound to what a receiver behind a slow link loses then. n is how many would signal alike: a receiver that
has come to signal much more often than the others is heard as if it were alone, not as one of all whose last signals
are not long ago. Parts add up until they make a cut, from a random beginning: the same part of the signals cuts as by
draws, but never n in a row that do not. And while a signal that has not cut goes on the window grows no more than
Reno's.
"""

import math
import random
from typing import Literal

from hosts.parts.cubic import BETA, Cubic
from hosts.parts.rounds import CAUTIOUS_DIVISOR, CAUTIOUS_ROUNDS, Rounds
from hosts.protocols.rla.branch import PERIOD_ROUNDS
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.troubled import TroubledReceivers

Cut = Literal["forced", "randomized"]

FORCED_CUT_ROUNDS = 2.0
"""3.3, rule 3: a cut is forced when the last one lies 2 awnd round trips back. RLA's round trip time is the largest of
all receivers (4)."""
AWND_ROUNDS = 8.0
"""awnd is a mean over about so many round trips: RFC 6298's gain of 1/8, once a round trip (ours)."""
LEAST_CAUTIOUS = 16.0
"""Packets: a smaller window goes on as it is, for its own bursts are as long as a queue (Linux, hystart_low_window)."""
SAMPLE = 4
"""Receivers by which it is estimated how many have met an event, beside the first (ours)."""
TINY = 1e-9
"""n times 1/n is 1 but for rounding."""
LEAST_SSTHRESH = 2.0
"""Packets, as TCP's (RFC 5681, Eq. 4)."""


class _Event:
    """A congestion event (RFC 9438, 4.6: the window is cut for it once). Times in seconds."""

    __slots__ = ("_left", "_told", "_weight", "after", "began_at", "has_cut", "sent_at")

    def __init__(self, after: float, now: float, sent_at: float) -> None:
        self.after = after
        """What was sent until then was of the event before."""
        self.began_at = now
        """What is sent later is not of this one."""
        self.sent_at = sent_at
        """A packet that is of it."""
        self.has_cut = False
        """It cuts no more than once."""
        self._told: set[int] = set()
        self._left = 0
        self._weight = 0.0

    def begin(self, receiver: int, count: int, alike: float, spared: int) -> None:
        """This one of so many troubled receivers has told first that it has met the event; its part is that of one
        `alike`. So many have told already that they have not: the next ones stand for the rest.
        """
        self._told.add(receiver)
        others = count - 1
        self._left = min(SAMPLE, others - spared)
        self._weight = (1 - 1 / alike) * (others - spared) / others / self._left if self._left > 0 else 0.0

    def ask(self, receiver: int) -> float:
        """This receiver has told. What its answer weighs."""
        self._told.add(receiver)
        self._left -= 1
        return self._weight

    def asks(self, receiver: int) -> bool:
        """Whether this receiver's answer is wanted."""
        return self._left > 0 and receiver not in self._told

    def is_over(self) -> None:
        """The window was cut for something else."""
        self._left = 0


class RandomListening:
    """cwnd in packets, and when it is cut. `now` is in seconds."""

    def __init__(self, options: RlaOptions, rng: random.Random, maximum: float) -> None:
        """`maximum`: packets that can be in flight at all."""
        self._options = options
        self._rng = rng
        self._maximum = float(maximum)
        self.cwnd = options.initial_cwnd
        self.ssthresh = self._maximum
        self.awnd = self.cwnd
        """Moving average of the window, packets."""
        self.last_window_cut = 0.0
        self._cubic = Cubic() if options.rules == "tcp" else None
        self.troubled = TroubledReceivers(options.eta, options.interval_gain)
        self._cautious: int | None = None  # the receiver whose longer round trips made slow start cautious
        self._cautious_rounds = 0
        self._event = _Event(0.0, 0.0, 0.0)
        # So large a part of those who are alike has to meet what comes.
        self._until_cut = rng.random() if self._cubic else 0.0
        self._signaller: int | None = None  # whose signal was the last one, and has not cut
        self._period_until = 0.0  # of its congestion period (3.3, rule 2)
        self._paused_s = self._clock_at = 0.0
        self._heard: dict[int, tuple[float, float]] = {}
        """When the last packet was sent that a receiver has told of, and the last one that met congestion there."""
        self.signals = 0
        self.rare = 0
        """Congestion signals of receivers that are not troubled ones."""
        self.forced_cuts = 0
        self.randomized_cuts = 0
        self.timeouts = 0

    def forget(self, receiver: int) -> None:
        """It is gone."""
        self.troubled.remove(receiver)
        self._heard.pop(receiver, None)
        if receiver == self._cautious:
            self._cautious = None

    def pthresh(self, rtt: float, rtt_max: float) -> float:
        """The probability of a cut upon a troubled receiver's signal: f(rtt / rtt_max) / num_trouble_rcvr (5.3)."""
        return self._scale(rtt, rtt_max) / max(1, self.troubled.alike if self._cubic else self.troubled.count)

    def _scale(self, rtt: float, rtt_max: float) -> float:
        return (rtt / rtt_max) ** self._options.rtt_exponent if 0 < rtt < rtt_max else 1.0

    def congestion(self, receiver: int, srtt: float, srtt_max: float, sent_at: float, now: float) -> Cut | None:
        """A congestion signal (rule 2) from `receiver`, whose smoothed round trip time is `srtt` s, the largest of all
        being `srtt_max` s: what was lost, or marked, was sent at `sent_at`; what was done.
        """
        self.signals += 1
        if not self.troubled.signal(receiver, now):
            self.rare += 1
            return None
        if self._cubic and sent_at <= self._event.began_at:
            return None  # it is of the event that is known
        if now - self.last_window_cut > FORCED_CUT_ROUNDS * self.awnd * srtt_max:
            self.forced_cuts += 1
            self._event.is_over()
            self._cut(now)
            return "forced"
        share = self.pthresh(srtt, srtt_max)
        if self._cubic:
            self._event = _Event(self._event.began_at, now, sent_at)
            self._event.begin(receiver, self.troubled.count, self.troubled.alike, self._spared(sent_at, now))
            self._curve_s(now)
            self._period_until, self._signaller = now + PERIOD_ROUNDS * srtt, receiver
            return self._adds(share, now)
        return self._randomized_cut(now) if self._rng.random() <= share else None

    def _spared(self, sent_at: float, now: float) -> int:
        """Troubled receivers that had what was sent then and before."""
        after, rare = self._event.after, self.troubled.limit(now)
        return sum(
            told_at >= sent_at and met_at <= after and self.troubled.interval(receiver, now) <= rare
            for receiver, (told_at, met_at) in self._heard.items()
        )

    def goes_on(self, receiver: int, until: float) -> None:
        """Its congestion period, in which it loses more, is not over before that: round trips have become longer."""
        if receiver == self._signaller:
            self._period_until = max(self._period_until, until)

    def _curve_s(self, now: float) -> float:
        """CUBIC's time: that of a congestion period without a cut is none of it."""
        self._paused_s += max(0.0, min(now, self._period_until) - self._clock_at)
        self._clock_at = now
        return now - self._paused_s

    def _adds(self, share: float, now: float) -> Cut | None:
        """So large a part of the receivers more has met the event."""
        self._until_cut -= share
        if self._until_cut >= TINY or self._event.has_cut:
            return None
        self._until_cut += 1.0
        self._event.has_cut = True
        return self._randomized_cut(now)

    def _randomized_cut(self, now: float) -> Cut:
        self.randomized_cuts += 1
        self._cut(now)
        return "randomized"

    def heard(
        self, receiver: int, srtt: float, srtt_max: float, told_at: float, met_at: float, now: float
    ) -> Cut | None:
        """`receiver` has told of what was sent until `told_at`; the last that it lost, or found marked, was sent at
        `met_at`: what was done.
        """
        event = self._event
        self._heard[receiver] = told_at, met_at
        if told_at < event.sent_at or not event.asks(receiver) or not self.troubled.is_one(receiver, now):
            return None
        weight = event.ask(receiver)
        return self._adds(weight * self._scale(srtt, srtt_max), now) if met_at > event.after else None

    @property
    def is_slow_start(self) -> bool:
        """Whether the window grows by one for each packet."""
        return self.cwnd < self.ssthresh

    def measured(self, receiver: int, rounds: Rounds, rtt: float, highest: int, end: int) -> None:
        """In slow start a packet that `highest` was acknowledged with took `rtt` s to and from this receiver; packet
        `end` is sent next (RFC 9406, 4.2).
        """
        if self._options.rules == "paper" or not self.is_slow_start:
            return
        if rounds.add(rtt, highest, end) and receiver == self._cautious:
            self._cautious_rounds += 1
            if self._cautious_rounds == CAUTIOUS_ROUNDS:
                self.ssthresh = self.cwnd
                self._cautious = None
                return
        if self._cautious is None:
            if rounds.are_longer and self.cwnd >= LEAST_CAUTIOUS:
                self._cautious, self._cautious_rounds = receiver, 0
                rounds.remember()
        elif receiver == self._cautious and rounds.are_short_again:
            self._cautious = None

    def _cut(self, now: float) -> None:
        self.cwnd = max(1.0, self._cubic.lost(self.cwnd) if self._cubic else self.cwnd / 2)
        self.ssthresh = max(LEAST_SSTHRESH, self.cwnd)
        self._cautious = None
        self.last_window_cut = self._period_until = now
        self._signaller = None
        self._event.began_at = now

    def timeout(self, now: float) -> None:
        """Nobody has acknowledged anything for a whole timeout: as TCP's, 4.1 (3)."""
        self.timeouts += 1
        self.ssthresh = max(LEAST_SSTHRESH, self.cwnd * (BETA if self._cubic else 0.5))
        if self._cubic:
            self._cubic.hold()
        self.cwnd = 1.0
        self._cautious = None
        self.last_window_cut = now
        self._event.is_over()
        self._event.began_at = now

    def acknowledged_by_all(
        self, packets: int, in_flight: float, srtt_max: float, now: float, sent_at: float = math.inf
    ) -> None:
        """So many packets are now with every receiver, of so many that were in flight, the newest sent at `sent_at`:
        one each in slow start (4.1); beyond, 1/cwnd for each (rule 4), or CUBIC's. That does not grow which is not used
        (RFC 9438, 5.8), nor before what a cut let go is with all (RFC 6675, 5: in recovery).
        """
        cwnd, rest = self.cwnd, packets
        if self._cubic and sent_at <= self.last_window_cut:
            rest = 0
        if self._cubic and 2 * in_flight < cwnd:
            self._cubic.hold()
            rest = 0
        growth = 1.0 if self._cautious is None else 1.0 / CAUTIOUS_DIVISOR
        while rest and cwnd < self.ssthresh:
            cwnd += growth
            rest -= 1
        if rest and self._cubic:
            at, is_paused = self._curve_s(now), now < self._period_until
            if is_paused:
                cwnd = self._cubic.acknowledged_as_reno(cwnd, rest, at)
            else:
                cwnd = self._cubic.acknowledged(cwnd, rest, srtt_max, at)
        else:
            for _ in range(rest):
                cwnd += 1.0 / cwnd
        self.cwnd = min(cwnd, self._maximum)
        self.awnd += (1 - math.exp(-packets / (AWND_ROUNDS * max(1.0, cwnd)))) * (self.cwnd - self.awnd)
