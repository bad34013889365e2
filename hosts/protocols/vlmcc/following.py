"""A follower's judgement (2.3): the window that it would have, and whether it should lead in the leader's place."""

from hosts.parts.rtt import DelayEstimator
from hosts.parts.vegas import VegasWindow
from hosts.protocols.vlmcc.backlog import vegas_difference
from hosts.protocols.vlmcc.control import LOSS_SHARE
from hosts.protocols.vlmcc.options import VlmccOptions


class Following:
    """Windows in packets, rates in packets per second, times in seconds on the receiver's clock."""

    __slots__ = (
        "_average_before",
        "_cut_until",
        "_next_round_at",
        "_options",
        "_own_start",
        "_sender_rate",
        "difference",
        "rtt",
        "should_lead",
        "window",
    )

    def __init__(self, options: VlmccOptions) -> None:
        self._options = options
        self.rtt = DelayEstimator(0.0, mean_gain=options.rtt_gain, deviation_gain=options.deviation_gain)
        self.window = VegasWindow(options.vegas, options.max_window)
        self.difference = 0.0
        """The average of how much faster the sender sends than we would want it to."""
        self.should_lead = False
        """As of the last round: Eq. (6) holds, and is getting worse."""
        self._average_before = 0.0
        self._sender_rate = 0.0
        self._cut_until = 0.0
        self._next_round_at: float | None = None
        self._own_start = True  # while the sender's window doubles, ours may

    @property
    def rate(self) -> float:
        """W / rtt, packets per second; 0 before there is an rtt."""
        return self.window.cwnd / self.rtt.mean if self.rtt.samples else 0.0

    @property
    def is_worse(self) -> bool:
        """Eq. (6), on average and now: a sender that has just slowed down would refuse the challenge."""
        if not self.rtt.samples:
            return False
        return min(self.difference, self._sender_rate - self.rate) > self._options.n_extra / self.rtt.mean

    def begin(self, cwnd: float) -> None:
        """The sender's window is `cwnd` (START)."""
        self.window.continue_from(cwnd)

    def arrived(self, now: float, rtt: float, base_rtt: float, rate: float, *, slow_start: bool, leads: bool) -> bool:
        """A packet came that was sent at `rate`, and `slow_start` or not; `leads`: we acknowledge it.

        Whether a round has ended."""
        first = self.rtt.samples == 0
        self._sender_rate = rate
        self.rtt.add(rtt)
        mean = self.rtt.mean
        window = self.window
        if first:
            # It has kept up with the sender so far.
            window.continue_from(max(window.cwnd, rate * mean))
        if leads:
            # The window of the real connection is ours, whatever the way back has to do with it.
            window.continue_from(rate * mean)
            self.difference = self._average_before = 0.0
            self._own_start = slow_start
        elif slow_start and self._own_start:
            window.continue_from(max(window.cwnd, rate * mean))
        self.difference += self._options.difference_gain * (rate - self.rate - self.difference)
        if self._next_round_at is None:
            self._next_round_at = now + mean
        if now < self._next_round_at:
            return False
        self._next_round_at = now + mean
        self._end_round(rate, base_rtt, slow_start=slow_start, leads=leads)
        return True

    def _end_round(self, rate: float, base_rtt: float, *, slow_start: bool, leads: bool) -> None:
        window, mean = self.window, self.rtt.mean
        if slow_start and self._own_start:
            self._own_start = leads or rate * (mean - base_rtt) <= self._options.gamma
        elif not leads:
            in_travel = min(window.cwnd, rate * mean)  # no more than the sender sends
            window.round_trip_ended(max(0.0, vegas_difference(window.cwnd, in_travel, mean, base_rtt)), used=True)
        if not slow_start:
            self._own_start = False
        self.should_lead = not leads and self.is_worse and self.difference > self._average_before
        self._average_before = self.difference

    def lost(self, now: float) -> bool:
        """Packets are missing: the window is halved, once a round trip. Whether it was."""
        if now < self._cut_until or not self.rtt.samples:
            return False
        self._cut_until = now + self.rtt.mean
        self.window.cut(LOSS_SHARE)
        self._own_start = False
        return True
