"""The window of `rules: adaptive`: hosts/parts/adaptive.py's, told by REPORTs how long packets waited on their way to
the leader, which of them arrived and which were marked. What happens on the way back changes the round trip time only.
"""

from collections import deque
from math import inf
from typing import Final

from hosts.parts.adaptive import AdaptiveWindow
from hosts.parts.gaps import REORDERING
from hosts.parts.loss_events import LossEvents
from hosts.parts.rtt import DelayEstimator
from hosts.protocols.vlmcc.control import Clocking, WindowControl
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import REPORTED_BEFORE, Report
from hosts.wire.units import MAX_U16

LEAST_MARGIN_S: Final = 0.1
"""A packet is waited for at least so much longer than the mean (ours): what arrived before a later one is known from
that one's report, so only the last packets before a silence time out."""
HOLD_RTTS: Final = 8
"""Without a leader the rate holds for so many round trips, and is halved after each so many more: a challenge needs
one, and the random wait before it as many as the logarithm of the number of receivers (ours; TFRC halves after four
without feedback, RFC 5348, 4.4)."""
QUEUE_SAMPLES: Final = 8
"""Of so many packets the least wait says that slow start has built up a queue: RFC 9406, 4.2."""
_MICRO: Final = 1e-6


class AdaptiveControl(WindowControl[AdaptiveWindow]):
    """The connection to the leader as it is by default."""

    def __init__(self, options: VlmccOptions) -> None:
        super().__init__(options)
        self._waits: deque[float] = deque(maxlen=QUEUE_SAMPLES)
        self._round_waiting = inf
        self._round_began = 0.0
        self._acked_in_round = 0
        self._marked: int | None = None  # as the leader counts
        self._losses = LossEvents()
        self._held_rtts = 0
        self._before: tuple[float, DelayEstimator] | None = None  # the last challenge was accepted

    def together(self, now: float) -> int:
        """How many packets may leave as a run."""
        if self.clocking is not Clocking.LEADER:
            return 0
        room = int(self.window.cwnd) - len(self.transit)
        return min(room, self._pacer.together(now, self.smoothed_rtt / self.window.cwnd), REPORTED_BEFORE)

    def sent_run(self, seq: int, count: int, now: float) -> None:
        """So many packets left together, `seq` and those that follow it."""
        self._next_seq = seq + count
        self._paced_from = now
        for one in range(seq, seq + count):
            self._travels(one, now)
        self._pacer.sent_run(now, self.smoothed_rtt / self.window.cwnd)

    def _new_window(self) -> AdaptiveWindow:
        return AdaptiveWindow(self._options.vegas, self._options.max_window)

    @property
    def timeout(self) -> float:
        least = self.rtt.mean + LEAST_MARGIN_S if self.rtt.samples else 0.0
        return max(super().timeout, least)

    def take_over(self, cwnd: float, rtt: float, base_rtt: float, now: float, *, beside_others: bool) -> None:
        self._before = self.window.cwnd, self.rtt
        super().take_over(cwnd, rtt, base_rtt, now, beside_others=beside_others)
        self.window.beside_others = beside_others

    def take_back(self) -> None:
        """The leader has not acknowledged anything: what was before it took over counts, as far as something was."""
        if self._before is None:
            self.rtt = self._estimator()
        else:
            cwnd, self.rtt = self._before
            self.window.continue_from(cwnd)

    def first_leader(self, now: float) -> None:
        super().first_leader(now)
        self._before = None

    def reinstate(self, now: float) -> None:
        super().reinstate(now)
        self._cut()  # a window was lost, or its reports

    def _follow(self, now: float) -> None:
        super()._follow(now)
        self._waits.clear()
        self._marked = None
        self._held_rtts = 0

    def reported(self, seq: int, rtt: float, report: Report, now: float) -> None:
        """The leader has packet `seq` and what `report` says; the packet's round trip took `rtt`."""
        self.rtt.add(rtt)
        waiting = report.waiting_us * _MICRO
        self.base_rtt = max(0.0, rtt - waiting)
        self._round_waiting = min(self._round_waiting, waiting)
        window = self.window
        self._waits.append(waiting)
        if window.heeds_waits and len(self._waits) == QUEUE_SAMPLES:
            window.waits(min(self._waits))
        self._highest_acked = max(self._highest_acked, seq)
        fresh = self._settle(seq, report.have)
        if fresh:
            self._unanswered = 0
            self._acked_in_round += fresh
            window.acknowledged(fresh, self.smoothed_rtt, now)
        is_marked = self._marked is not None and 0 < (report.marked - self._marked & MAX_U16) <= MAX_U16 // 2
        self._marked = report.marked
        self._losses.arrived(fresh)
        if window.slow_start:
            self._losses.forget()
        elif is_marked or self._losses.are_heavy:
            window.signalled(self.smoothed_rtt, now)
        if is_marked:
            self._congested(seq)
        self._end_round(now)

    def _settle(self, seq: int, have: int) -> int:
        """Of packet `seq` and those before it: how many are known to have arrived that were not before. Others that
        were overtaken are lost.
        """
        transit = self.transit
        fresh = int(transit.acknowledged(seq))
        missing = [other for other in self._undecided if other < seq]
        self._undecided = [other for other in self._undecided if other > seq]
        missing += transit.before(seq)
        for other in missing:
            back = seq - other
            if back <= REPORTED_BEFORE and have >> (back - 1) & 1:
                fresh += transit.acknowledged(other)
            elif back >= REORDERING:
                transit.acknowledged(other)
                self._lost(other)
        return fresh

    def _begin_round(self, now: float) -> None:
        super()._begin_round(now)
        self._round_began = now
        self._round_waiting = inf
        self._acked_in_round = 0

    def _adjust(self, now: float) -> None:
        elapsed = now - self._round_began
        if elapsed > 0 and self._round_waiting < inf:
            rate = self._acked_in_round / elapsed
            # The mean lags behind a queue that has just become longer than the path.
            rtt = max(self.smoothed_rtt, self.base_rtt + self._round_waiting)
            self.window.round_trip_ended(self._round_waiting, rate, rtt, not self.starved, now)

    def _cut(self) -> None:
        self._losses.lost()
        self.window.lost(self._waits[-1] if self._waits else 0.0)

    def _without_leader(self) -> None:
        self._held_rtts += 1
        if self._held_rtts % HOLD_RTTS == 0:
            self.window.continue_from(self.window.cwnd / 2)
