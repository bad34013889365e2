"""A follower's window under `rules: paper`: TCP Vegas', as the sender's (2.3)."""

from hosts.parts.vegas import VegasWindow
from hosts.protocols.vlmcc.backlog import vegas_difference
from hosts.protocols.vlmcc.following import Following
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import FLAG_SLOW_START
from hosts.protocols.vlmcc.paper_control import LOSS_SHARE


class PaperFollowing(Following[VegasWindow]):
    """Units as in Following."""

    __slots__ = ()

    def __init__(self, options: VlmccOptions) -> None:
        super().__init__(options, VegasWindow(options.vegas, options.max_window))

    @property
    def _margin(self) -> float:
        return self._options.n_extra

    def arrived(
        self, now: float, rtt: float, base_rtt: float, rate: float, flags: int, *, leads: bool, count: int = 1
    ) -> bool:
        first = self.rtt.samples == 0
        slow_start = bool(flags & FLAG_SLOW_START)
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

    def _cut(self) -> None:
        self.window.cut(LOSS_SHARE)
