"""TCP Vegas' congestion window (Brakmo and Peterson 1995), driven by rate and queueing delay.

Vegas compares the expected with the actual rate: backlog = cwnd (1 - base_rtt / rtt), the packets that wait in queues.
By Little's law that is rate * (rtt - base_rtt), which needs only a *difference* of delays: so it works for the relative
time delays of MTCP (3.2), whose two clocks share no origin, and also while something else than this window limits the
rate.
"""

from dataclasses import dataclass
from typing import Final

INITIAL_CWND: Final = 1.0
"""Packets; MTCP, 2 ("sets its cwnd to one")."""
LEAST_CWND: Final = 2.0
"""Packets; congestion avoidance goes no lower, as in Vegas."""
CUT: Final = 3 / 4
"""What a loss that is taken for congestion, but did not time out, leaves of the window: Vegas' (the MTCP paper has
none)."""


@dataclass(frozen=True, slots=True)
class VegasOptions:
    """Thresholds on the backlog, in packets."""

    alpha: float = 2.0  # below: grow by one packet a round trip
    beta: float = 4.0  # above: shrink by one packet a round trip
    gamma: float = 1.0  # above: slow start ends


class VegasWindow:
    """A congestion window in packets. Its owner says when a round trip has passed."""

    __slots__ = ("_draining", "_growing", "_options", "cwnd", "maximum", "ssthresh")

    def __init__(self, options: VegasOptions, maximum: float) -> None:
        """`maximum`: packets that the owner can keep in flight at all."""
        self._options = options
        self.maximum = float(maximum)
        self.cwnd = INITIAL_CWND
        self.ssthresh = self.maximum
        self._growing = True  # slow start grows every other round trip, so that in between the delay can be compared
        self._draining = False  # slow start has overshot

    @property
    def slow_start(self) -> bool:
        """Whether the window still doubles (every other round trip)."""
        return self.cwnd < self.ssthresh

    def acknowledged(self, packets: int) -> None:
        """So many new packets were acknowledged (by all)."""
        if self._growing and self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + packets, self.ssthresh, self.maximum)

    def round_trip_ended(self, backlog: float, used: bool) -> None:
        """A round trip passed in which `backlog` packets waited in queues. Not `used`: something else than this window
        limited the rate, so that the absence of a queue says nothing, and the window does not grow.
        """
        options = self._options
        if self.cwnd < self.ssthresh:
            if backlog > options.gamma:
                self._shrink(backlog - options.gamma)  # the pipe holds what did not wait
                self._draining = True
            else:
                self._growing = used and not self._growing
        elif backlog > options.beta:
            # What slow start built up would take as many round trips as there are packets to go one by one (ours).
            self._shrink(backlog - options.beta if self._draining else 1.0)
        else:
            self._draining = False
            if backlog < options.alpha and used:
                self.cwnd = min(self.cwnd + 1, self.maximum)

    def _shrink(self, packets: float) -> None:
        """Congestion avoidance from a smaller window on."""
        self.cwnd = self.ssthresh = max(LEAST_CWND, self.cwnd - packets)

    def timed_out(self, again: bool = False) -> None:
        """A retransmission timer expired; `again`: for a packet on whose account it did before."""
        if not again:
            self.ssthresh = max(LEAST_CWND, self.cwnd / 2)
        self.cwnd = INITIAL_CWND
        self._growing = True
        self._draining = False

    def cut(self, share: float = CUT) -> None:
        """Loss that means congestion, without a timeout, leaves that share of the window."""
        self.cwnd = max(LEAST_CWND, self.cwnd * share)
        self.ssthresh = self.cwnd

    def continue_from(self, cwnd: float) -> None:
        """Congestion avoidance goes on from a window of so many packets, as of another path."""
        self.cwnd = self.ssthresh = min(max(LEAST_CWND, cwnd), self.maximum)
        self._draining = False
