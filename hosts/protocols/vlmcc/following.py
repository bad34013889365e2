"""A follower's judgement (2.3): the window that it would have, and whether it should lead in the leader's place.

What becomes of the window is said by the session's rules: `paper_following` and `adaptive_following`.
"""

from abc import abstractmethod
from typing import Generic

from hosts.parts.rtt import DelayEstimator
from hosts.protocols.vlmcc.control import WindowT
from hosts.protocols.vlmcc.options import VlmccOptions


class Following(Generic[WindowT]):
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

    def __init__(self, options: VlmccOptions, window: WindowT) -> None:
        self._options = options
        self.rtt = DelayEstimator(0.0, mean_gain=options.rtt_gain, deviation_gain=options.deviation_gain)
        self.window = window
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
        return min(self.difference, self._sender_rate - self.rate) > self._margin / self.rtt.mean

    @property
    @abstractmethod
    def _margin(self) -> float:
        """Packets that its window may be smaller than the sender's."""

    def begin(self, cwnd: float) -> None:
        """The sender's window is `cwnd` (START)."""
        self.window.continue_from(cwnd)

    @abstractmethod
    def arrived(
        self, now: float, rtt: float, base_rtt: float, rate: float, flags: int, *, leads: bool, count: int = 1
    ) -> bool:
        """`count` packets came that were sent together at `rate` with such flags; `leads`: we acknowledge them.

        Whether a round has ended."""

    @abstractmethod
    def _cut(self) -> None:
        """The window that a loss leaves."""

    def lost(self, now: float, *, is_marked: bool = False) -> bool:
        """Packets are missing, or marked: the window is cut, once a round trip. Whether it was."""
        if now < self._cut_until or not self.rtt.samples:
            return False
        self._cut_until = now + self.rtt.mean
        self._cut()
        self._own_start = False
        return True
