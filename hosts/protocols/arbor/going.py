"""By whose window the sender goes, and when a packet may leave: paced, and no more under way than the window.

Times are in seconds on the sender's clock, windows in packets.
"""

from math import inf
from typing import Final

from hosts.endpoint import Address
from hosts.parts.rtt import DelayEstimator
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import Report
from hosts.wire.units import UNIT

SLOW_START_PACE: Final = 2.0
AVOIDANCE_PACE: Final = 1.2
"""The window over the round trip time times this: as Linux paces TCP (net.ipv4.tcp_pacing_ss_ratio, -ca_ratio)."""
SCALABLE_PACE: Final = 1.03
"""Where a queue of a packet or two is marked, the pace must not make one; BBRv3 stays 1 % below its rate for it (ours).
"""
LATE_S: Final = 0.001
"""What a timer is late is made up for: Linux' pacing holds a millisecond's worth of packets together."""
HOSTS_RTT_S: Final = 0.002
"""Shorter ones are as much hosts' as the path's, a timer's millisecond at either end: between two of them windows are
compared, and not rates (ours)."""
LEAST_TIMEOUT_S: Final = 0.2
"""Linux' TCP_RTO_MIN."""
LONGEST_TIMEOUT_S: Final = 60.0
"""RFC 6298, 2.5."""
FIRST_TIMEOUT_S: Final = 1.0
"""RFC 6298, 2.1."""
FORSAKEN_S: Final = 3.0
"""Who has not reported for so long, in which several were due, limits the rate no more (ours)."""


def window_at(rtt: float, rate: float, theirs: float) -> float:
    """The window that is worth as much at `rtt` as `rate` is at `theirs`; 0: at the same."""
    if (rtt >= HOSTS_RTT_S and theirs >= HOSTS_RTT_S) or not theirs:
        return rate * rtt
    return rate * theirs * max(rtt, HOSTS_RTT_S) / max(theirs, HOSTS_RTT_S)


class Limiting:
    """The receiver that wants least."""

    __slots__ = ("address", "heard_at", "receiver")

    def __init__(self, receiver: int, address: Address, heard_at: float) -> None:
        self.receiver = receiver
        self.address = address
        self.heard_at = heard_at


class Going:
    """See the module."""

    def __init__(self, options: ArborOptions) -> None:
        self.limiting: Limiting | None = None
        self.cwnd = float(options.first_window)
        self.slow_start = True
        self._pace = SLOW_START_PACE
        self._maximum = float(options.max_window)
        self._slack = 1 + 0.5 / options.reports_per_rtt
        self._rtt = DelayEstimator(0.0)
        self._acked = -1  # the last packet that is known to have left the network
        self._next_at = -inf  # when the next may leave, by the pace
        self._opened_at = -inf  # when a report last let packets leave
        self._ramp = inf  # packets under way at most, after a time-out
        self._timeouts = 0  # on end
        self._quiet_since = 0.0  # the last report, or what has taken its place

    @property
    def srtt(self) -> float | None:
        """None before the first sample."""
        return self._rtt.mean if self._rtt.samples else None

    @property
    def rate(self) -> float:
        """Packets a second."""
        return self.cwnd / self._rtt.mean if self._rtt.samples else self.cwnd / FIRST_TIMEOUT_S

    def is_more_than(self, cwnd: float, rtt: float) -> bool:
        """Whether the rate is, than that of a receiver with such a window."""
        return cwnd < window_at(rtt, self.rate, self.srtt or 0.0)

    @property
    def restarting(self) -> bool:
        """Whether less than the window is let go, for reports have failed to come."""
        return self._ramp < self.cwnd

    def follow(self, limiting: Limiting, seq: int, rtt: float, cwnd: float, now: float) -> None:
        """Another receiver limits the rate; it has packet `seq`."""
        self.limiting = limiting
        self._rtt = DelayEstimator(0.0)
        self._rtt.add(rtt)
        # What another receiver has is under way to this one at most for the difference of their paths.
        self._acked = max(seq, self._acked)
        self.cwnd = max(1.0, cwnd)
        self._quiet_since = now
        self._timeouts = 0

    def reported(self, seq: int, rtt: float, report: Report, now: float) -> None:
        """The receiver that limits the rate has packet `seq`, after `rtt`."""
        assert self.limiting is not None
        self.limiting.heard_at = now
        if seq > self._acked:  # else what is under way may be lost, whatever is said of what came before
            self._rtt.add(rtt)
            self._quiet_since = now
            self._timeouts = 0
            self._ramp += seq - self._acked
            self._acked = seq
            self._opened_at = now
        # Nobody's word makes more of the window than it would have doubled to (or what it is, while it is not in use).
        self.cwnd = max(1.0, min(report.cwnd / UNIT, self._maximum, 2 * self.cwnd))
        self.note(report)
        if self._ramp >= self.cwnd:
            self._ramp = inf

    def note(self, report: Report) -> None:
        """How the window of whom it goes by moves."""
        self.slow_start = report.slow_start
        self._pace = SLOW_START_PACE if report.slow_start else SCALABLE_PACE if report.scalable else AVOIDANCE_PACE

    def forsake(self, now: float) -> None:
        """Nobody limits the rate."""
        self.limiting = None
        self._timeouts = 0
        self._quiet_since = now

    # --- when

    @property
    def _allowed(self) -> int:
        """Packets under way at most. A report comes for several packets, half of them before it is due."""
        return max(1, int(min(self._ramp, self.cwnd * self._slack)))

    def may_send_at(self, seq: int) -> float:
        """When packet `seq` may leave; infinite: not before a report or a time-out."""
        # As `_allowed` has it, without the calls: it is asked several times for each packet.
        under_way = seq - self._acked
        most = self.cwnd * self._slack
        return self._next_at if under_way <= 1 or (under_way <= most and under_way <= self._ramp) else inf

    def due(self, seq: int, now: float) -> int:
        """How many packets may leave together, from `seq` on, of which one may."""
        by_pace = int((now - self._due_from(now)) * self._pace * self.rate) + 1
        return min(by_pace, self._allowed - (seq - 1 - self._acked))

    def sent(self, now: float, packets: int = 1) -> None:
        """So many packets left."""
        self._next_at = self._due_from(now) + packets / (self._pace * self.rate)

    def _due_from(self, now: float) -> float:
        # Who waited for a report, and not for a timer, has nothing to make up for.
        return max(self._next_at, self._opened_at, now - LATE_S)

    # --- silence

    def timeout_at(self, seq: int) -> float:
        """When packets that are under way are lost, or the reports of them."""
        if self.limiting is None or seq - 1 <= self._acked:
            return inf
        return self._quiet_since + self._timeout

    @property
    def _timeout(self) -> float:
        base = (
            FIRST_TIMEOUT_S if self._rtt.timeout is None else max(LEAST_TIMEOUT_S + self._rtt.mean, self._rtt.timeout)
        )
        return min(LONGEST_TIMEOUT_S, base * 2.0**self._timeouts)

    def timed_out(self, seq: int, now: float) -> None:
        """What is under way counts as lost; one packet asks again, and more as they are reported (RFC 6298, 5)."""
        assert self.limiting is not None
        self._acked = seq - 1
        self._ramp = 1.0
        self._timeouts = min(self._timeouts + 1, 16)
        self._quiet_since = now
        if now >= self.limiting.heard_at + max(FORSAKEN_S, 4 * self._rtt.mean):
            self.forsake(now)
