"""A follower's judgement under `rules: adaptive`: the window that the sender's own rules would have given it.

Its window is hosts/parts/adaptive.py's, as the sender's. What differs is that it sends nothing by that window: the
sender's rate stands for its own. So it grows to no more than twice what the sender has in flight (RFC 7661, 4.3: what
is not used is not validated), and when packets wait at the sender's rate, it is no more than that. Drains are the
sender's; who else fills the queue on its own way it sees for itself.
"""

from collections import deque
from math import inf
from typing import Final

from hosts.parts.adaptive import HYSTART_SHARE, NOISE_S, AdaptiveWindow
from hosts.parts.coexistence import FollowedCompany
from hosts.parts.loss_events import LossEvents
from hosts.protocols.vlmcc.adaptive_control import QUEUE_SAMPLES
from hosts.protocols.vlmcc.following import Following
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import FLAG_BESIDE_OTHERS, FLAG_DRAINING, FLAG_SLOW_START

UNUSED: Final = 2.0
"""Times what the sender has in flight for it: RFC 7661, 4.3."""
DOUBLED: Final = 2.0
"""When slow start's packet is acknowledged the window is twice what it was when the packet left."""
WORSE_SHARE: Final = 1 / 8
"""Of its window, or n_extra if that is more: so far below the sender's it may be before it challenges. Windows that
lose different packets differ by n_extra all the time, and everybody's losses would cut the session (ours)."""
ROUND_GAIN: Final = 1 / 8
"""Of the average of Eq. (6)'s difference, a round trip (ours)."""


class AdaptiveFollowing(Following[AdaptiveWindow]):
    """Units as in Following."""

    __slots__ = ("_arrived", "_company", "_drained", "_has_seen", "_losses", "_round_began", "_waiting", "_waits")

    def __init__(self, options: VlmccOptions) -> None:
        self._company = FollowedCompany()
        super().__init__(options, AdaptiveWindow(options.vegas, options.max_window, self._company))
        self._waits: deque[float] = deque(maxlen=QUEUE_SAMPLES)
        self._waiting = inf  # the least of this round
        self._arrived = 0  # in this round
        self._round_began = 0.0
        self._drained = False  # in this round the sender drained the queue
        self._has_seen = False  # a whole drain
        self._losses = LossEvents()

    @property
    def beside_others(self) -> bool:
        """Whether somebody else fills the queue on its way."""
        return self.window.beside_others

    @property
    def _margin(self) -> float:
        return max(self._options.n_extra, WORSE_SHARE * self.window.cwnd)

    def arrived(
        self, now: float, rtt: float, base_rtt: float, rate: float, flags: int, *, leads: bool, count: int = 1
    ) -> bool:
        first = self.rtt.samples == 0
        slow_start = bool(flags & FLAG_SLOW_START)
        draining = bool(flags & FLAG_DRAINING)
        self._sender_rate = rate
        self.rtt.add(rtt)
        waiting = max(0.0, rtt - base_rtt)
        self._waiting = min(self._waiting, waiting)
        self._waits.append(waiting)
        self._arrived += count
        self._losses.arrived(count)
        self._company.tell(draining, present=bool(flags & FLAG_BESIDE_OTHERS))
        self._drained |= draining
        if not self._has_seen or leads:
            # Until it has seen a queue drained it knows no more than the sender.
            self.window.beside_others = bool(flags & FLAG_BESIDE_OTHERS)
        mean = self.rtt.mean
        in_flight = rate * mean
        window = self.window
        if leads:
            window.continue_from(in_flight)
            self.difference = self._average_before = 0.0
            self._own_start = slow_start
        elif slow_start and self._own_start:
            if first or DOUBLED * in_flight > window.cwnd:
                window.continue_from(DOUBLED * in_flight)
            if len(self._waits) == QUEUE_SAMPLES and self._is_queue(min(self._waits), rate, base_rtt):
                window.continue_from(in_flight)
                self._own_start = False
        else:
            if first:
                window.continue_from(max(window.cwnd, in_flight))
            window.acknowledged(count, mean, now)
        if slow_start:
            self._losses.forget()
        else:
            self._own_start = False
        if self._next_round_at is None:
            self._begin_round(now, mean)
        assert self._next_round_at is not None
        if now < self._next_round_at:
            return False
        self._end_round(now, in_flight, base_rtt, leads=leads)
        self._begin_round(now, mean)
        return True

    def _is_queue(self, waiting_s: float, rate: float, base_rtt: float) -> bool:
        """Whether it ends slow start, as at the sender."""
        return waiting_s > max(self._options.gamma / rate, HYSTART_SHARE * base_rtt, NOISE_S) if rate > 0 else False

    def _begin_round(self, now: float, mean: float) -> None:
        self._next_round_at = now + mean
        self._round_began = now
        self._waiting = inf
        self._arrived = 0
        self._drained = False

    def _end_round(self, now: float, in_flight: float, base_rtt: float, *, leads: bool) -> None:
        window, mean = self.window, self.rtt.mean
        if self._own_start or leads:
            self.should_lead = False
            return
        if window.cwnd > in_flight and window.is_long(self._waiting) and not window.beside_others:
            window.continue_from(in_flight)
        rate = self._arrived / (now - self._round_began)
        # The mean lags behind a queue that has just become longer than the path.
        rtt = max(mean, base_rtt + self._waiting)
        window.round_trip_ended(self._waiting, rate, rtt, window.cwnd <= UNUSED * in_flight, now)
        if self._drained:
            self._has_seen = True
            self.should_lead = False
            return
        # By how much better off it is does not make it later to say when it is worse off.
        difference = max(self._sender_rate - self.rate, -self._margin / mean)
        self.difference += ROUND_GAIN * (difference - self.difference)
        self.should_lead = self.is_worse and self.difference > self._average_before
        self._average_before = self.difference

    def lost(self, now: float, *, is_marked: bool = False) -> bool:
        is_cut = super().lost(now)
        if is_cut and (is_marked or self._losses.are_heavy):
            self.window.signalled(self.rtt.mean, now)
        return is_cut

    def _cut(self) -> None:
        self._losses.lost()
        self.window.lost(self._waits[-1])
