"""CUBIC's growth of a congestion window in congestion avoidance (RFC 9438, 4), with its Reno-friendly region.

Windows are in packets, times in seconds on the owner's clock. The owner keeps the window: this says what becomes of it.
"""

from typing import Final

C: Final = 0.4
"""Packets/s^3: 4.1.2."""
BETA: Final = 0.7
"""What a loss leaves of the window: 4.6."""
SLOW_START_CUT: Final = 1 / 2
"""What a loss leaves of the window in slow start: 4.6, for it has doubled since the lost packet was sent."""
FASTEST: Final = 1.5
"""Most that the window grows to in a round trip: 4.2."""
RENO_GROWTH: Final = 3 * (1 - BETA) / (1 + BETA)
"""Packets a round trip with which Reno, if it were cut to BETA, would have its own rate: 4.3, alpha_cubic."""


class Cubic:
    """One flow's curve."""

    __slots__ = ("_began", "_estimate", "_origin", "_plateau_after_s", "_prior", "_w_max")

    def __init__(self) -> None:
        self._w_max = 0.0  # the window before the last reduction; 0: there was none
        self._prior = 0.0  # the same, whatever fast convergence made of it
        self._began: float | None = None  # the epoch
        self._origin = 0.0  # the window at the curve's plateau
        self._plateau_after_s = 0.0  # K
        self._estimate = 0.0  # W_est: what Reno would have

    def lost(self, cwnd: float, share: float = BETA) -> float:
        """A loss means congestion: the window that is left (4.6, 4.7), that share of it."""
        # Fast convergence: one that has not reached its last plateau leaves more room to newcomers.
        self._w_max = cwnd * (1 + BETA) / 2 if cwnd < self._w_max else cwnd
        self._prior = cwnd
        self._began = None
        return cwnd * share

    def hold(self) -> None:
        """The window has not been what limits the rate, or something else than a loss has changed it: it grows on from
        a plateau (4.2: time without growth is no time of the curve; 4.8).
        """
        self._w_max = self._prior = 0.0
        self._began = None

    def acknowledged(self, cwnd: float, packets: int, rtt_s: float, now: float) -> float:
        """So many new packets were acknowledged: what becomes of the window (4.2 to 4.5)."""
        began = self._begin(cwnd, now)
        at = now - began + rtt_s - self._plateau_after_s
        target = min(max(cwnd, self._origin + C * at * at * at), FASTEST * cwnd)
        return max(self._as_reno(cwnd, packets), cwnd + (target - cwnd) * packets / cwnd)

    def acknowledged_as_reno(self, cwnd: float, packets: int, now: float) -> float:
        """The same where no more than Reno's growth is wanted (4.3)."""
        self._begin(cwnd, now)
        return max(self._as_reno(cwnd, packets), cwnd)

    def _begin(self, cwnd: float, now: float) -> float:
        """The epoch, unless it has begun. When that was."""
        if self._began is None:
            self._began = now
            self._estimate = cwnd
            self._origin = max(cwnd, self._w_max)
            self._plateau_after_s = ((self._origin - cwnd) / C) ** (1 / 3)
            self._prior = max(cwnd, self._prior) if self._w_max else cwnd
        return self._began

    def _as_reno(self, cwnd: float, packets: int) -> float:
        growth = 1.0 if self._estimate >= self._prior else RENO_GROWTH
        self._estimate += growth * packets / cwnd
        return self._estimate
