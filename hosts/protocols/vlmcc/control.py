"""The sender's half of the emulated connection (2.2, 2.4): rtt, what is in travel, and when a packet may leave.

What becomes of the window is said by the session's rules: `paper_control` and `adaptive_control`.
"""

import enum
from abc import abstractmethod
from math import inf
from typing import Final, Generic, TypeVar

from hosts.parts.adaptive import AdaptiveWindow
from hosts.parts.rtt import INITIAL_TIMEOUT_S, DelayEstimator
from hosts.parts.vegas import VegasWindow
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.transit import BurstPacer, Transit

WindowT = TypeVar("WindowT", bound=VegasWindow | AdaptiveWindow)
"""Whose window it is: the type of the attribute in subclasses."""

LEAST_UNANSWERED: Final = 4
"""Packets: with a window of two or three, as many losses in a row do not mean that the leader is gone (ours)."""
UNHEARD_GAP_S: Final = 0.5
"""While nobody has answered packets come to be so far apart, however short the initial rtt is said to be (ours)."""


class Clocking(enum.Enum):
    """What lets packets go."""

    NOBODY = enum.auto()
    """There has been no leader: one packet per initial rtt, then fewer."""
    LEADER = enum.auto()
    """Acknowledgments."""
    LOST = enum.auto()
    """2.4: no acknowledgments; a window a rtt."""


class WindowControl(Generic[WindowT]):
    """Times in seconds on the sender's clock, windows in packets."""

    def __init__(self, options: VlmccOptions) -> None:
        self._options = options
        self.clocking = Clocking.NOBODY
        self.window = self._new_window()
        self.rtt = self._estimator()
        self.base_rtt = inf
        self.transit = Transit()
        self.starved = False
        """In this round a packet could have been sent, but the application had none."""
        self.rounds_below = 0
        """Rounds in a row in which the window would have fallen below the session's least rate."""
        self.lost_packets = 0
        self.cuts = 0
        self._pacer = BurstPacer()
        self._next_round_at = inf
        self._paced_from = -inf  # without a leader: when the last packet left
        self._unheard_gap = options.initial_rtt_s
        self._unanswered = 0  # packets sent since an acknowledgment came
        self._highest_acked = -1
        self._next_seq = 0
        self._cut_below = 0  # losses of earlier packets were answered with a cut
        self._undecided: list[int] = []  # timed out, and nothing later was acknowledged: a loss, or the leader is gone
        self._most_in_travel = 0  # in this round
        self._sent_in_round = 0

    # --- what the rules decide

    @abstractmethod
    def _new_window(self) -> WindowT:
        """A session's first."""

    @abstractmethod
    def _adjust(self, now: float) -> None:
        """A round has ended in which packets were sent."""

    @abstractmethod
    def _cut(self) -> None:
        """The window that a loss leaves."""

    @abstractmethod
    def _without_leader(self) -> None:
        """2.4: a rtt has passed in which nobody acknowledged."""

    # ---

    def _estimator(self) -> DelayEstimator:
        options = self._options
        return DelayEstimator(options.loss_margin_s, mean_gain=options.rtt_gain, deviation_gain=options.deviation_gain)

    @property
    def smoothed_rtt(self) -> float:
        """Eq. (1); the initial one before there is a sample."""
        return self.rtt.mean if self.rtt.samples else self._options.initial_rtt_s

    @property
    def timeout(self) -> float:
        """After so long without an acknowledgment a packet is lost (2.2)."""
        timeout = self.rtt.timeout
        return max(2 * self._options.initial_rtt_s, INITIAL_TIMEOUT_S) if timeout is None else timeout

    @property
    def rate(self) -> float:
        """W / rtt, packets per second."""
        if self.clocking is Clocking.NOBODY or not self.rtt.samples:
            return 1 / self._unheard_gap
        return self.window.cwnd / self.smoothed_rtt

    # --- who leads

    def first_leader(self, now: float) -> None:
        """The session's first leader: nothing is known of its path."""
        self.window = self._new_window()
        self.rtt = self._estimator()
        self.base_rtt = inf
        self._follow(now)

    def take_over(self, cwnd: float, rtt: float, base_rtt: float, now: float, *, beside_others: bool) -> None:
        """A challenger leads: its window, and what is under way counts as acknowledged (2.3). `beside_others`: in its
        queue.
        """
        self.window.continue_from(cwnd)
        self.rtt = self._estimator()
        self.rtt.add(rtt)
        self.base_rtt = base_rtt
        self._follow(now)

    def reinstate(self, now: float) -> None:
        """The leader was not gone: its acknowledgments came late."""
        self._follow(now)

    def lose_leader(self, now: float) -> None:
        """2.4: nobody acknowledges; the rate stays, when there has been one."""
        if not self.rtt.samples:
            self.forsake()
            return
        self.window.continue_from(self.window.cwnd)
        self._follow(now)
        self.clocking = Clocking.LOST

    def forsake(self) -> None:
        """Nobody is left: as in the beginning."""
        self.clocking = Clocking.NOBODY
        self.transit.clear()

    def _follow(self, now: float) -> None:
        self.clocking = Clocking.LEADER
        self.transit.clear()
        self._undecided.clear()
        self._cut_below = self._next_seq
        self._unanswered = 0
        self._highest_acked = self._next_seq - 1
        self.rounds_below = 0
        self._pacer = BurstPacer()
        self._begin_round(now)

    # --- what happens

    def sent(self, seq: int, now: float) -> None:
        """A packet left."""
        self._next_seq = seq + 1
        self._paced_from = now
        if self.clocking is not Clocking.LEADER:
            if self.clocking is Clocking.NOBODY:
                self._unheard_gap = max(self._unheard_gap, min(2 * self._unheard_gap, UNHEARD_GAP_S))
            return
        self._travels(seq, now)
        self._pacer.sent(now, self.smoothed_rtt / self.window.cwnd)

    def _travels(self, seq: int, now: float) -> None:
        self.transit.sent(seq, now)
        self._unanswered += 1
        self._sent_in_round += 1
        self._most_in_travel = max(self._most_in_travel, len(self.transit))

    def expire(self, now: float) -> bool:
        """Take what has timed out for lost. Whether the leader is gone: more than a window without a sign of it."""
        for seq in self.transit.take_lost(now, self.timeout):
            if seq < self._highest_acked:
                self._lost(seq)
            else:
                self._undecided.append(seq)
        return self._unanswered > max(self.window.cwnd, LEAST_UNANSWERED)

    def _lost(self, seq: int) -> None:
        self.lost_packets += 1
        self._congested(seq)

    def _congested(self, seq: int) -> None:
        """Packet `seq` met congestion: answered once a round trip."""
        if seq >= self._cut_below:  # else sent before the last cut could take effect
            self._cut_below = self._next_seq
            self.cuts += 1
            self._cut()
            self._keep_least_rate()

    # --- rounds

    def _begin_round(self, now: float) -> None:
        self._next_round_at = now + self.smoothed_rtt
        self._most_in_travel = len(self.transit)
        self._sent_in_round = 0
        self.starved = False

    def _end_round(self, now: float) -> None:
        """Once a rtt the window is adjusted."""
        if now < self._next_round_at:
            return
        if self._sent_in_round:
            self._adjust(now)
            self._keep_least_rate(round_ended=True)
        self._begin_round(now)

    def _keep_least_rate(self, *, round_ended: bool = False) -> None:
        """The session's least rate bounds the window; whoever needs less for long is not to lead."""
        least = self.least_window
        below = self.window.cwnd < least
        if below:
            self.window.continue_from(least)
        if round_ended:
            self.rounds_below = self.rounds_below + 1 if below or self.window.cwnd <= least else 0

    @property
    def least_window(self) -> float:
        """Packets a rtt that the session's least rate comes to; 0 when there is none."""
        return self._least_rate_pps * self.smoothed_rtt

    @property
    def _least_rate_pps(self) -> float:
        return self._options.least_rate_bps / 8 / self._options.packet_bytes

    # --- when

    def may_send_at(self, now: float) -> float:
        """When the next packet may leave, as things stand; infinite: not before an acknowledgment or a timeout."""
        if self.clocking is Clocking.LEADER:
            if len(self.transit) >= int(self.window.cwnd):
                return inf
            return self._pacer.next_at
        if self.clocking is Clocking.LOST and now >= self._next_round_at:
            self._without_leader()
            self._begin_round(now)
        return self._paced_from + 1 / self.rate

    @property
    def timeout_at(self) -> float:
        """When the packet that has been under way longest is lost."""
        oldest = self.transit.oldest_at
        return inf if oldest is None else oldest + self.timeout
