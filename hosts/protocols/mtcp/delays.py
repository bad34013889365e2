"""The delays of a parent's children, and the timeouts that their maxima give (MTCP, 3.2 to 3.4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf

from hosts.endpoint import Address
from hosts.parts.rtt import INITIAL_TIMEOUT_S, DelayEstimator
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback

MAX_TIMEOUT_S = 60.0
"""Exponential backoff ends here, and no round trip is longer: RFC 6298 (2.5)."""


class Delays:
    """Measures relative time delays and round trip times, and keeps the timeouts that their maxima give."""

    __slots__ = (
        "_children",
        "_counters",
        "_measured",
        "_options",
        "_overdue",
        "_own_clock",
        "_rto_rtd",
        "_rto_rtt",
        "_unmeasured",
        "_waiting",
        "drift_s",
    )

    def __init__(
        self, children: Mapping[Address, Child], options: MtcpOptions, counters: Counter[str], *, own_clock: bool
    ) -> None:
        """`own_clock`: send times are of the agent's own clock, so that a relative time delay is a round trip time and
        never negative.
        """
        self._children = children
        self._options = options
        self._counters = counters
        self._own_clock = own_clock
        self._rto_rtd: float | None = None
        self._overdue: float | None = None
        self._unmeasured = 0  # children without a time-out when that was last looked at
        self._measured = 0  # measurements since
        self._rto_rtt = INITIAL_TIMEOUT_S
        self._waiting = DelayEstimator(0.0)  # how long what has arrived waits for a busy agent
        self.drift_s = 0.0
        """By how much the sender's clock has gained on the agent's since the session began."""

    @property
    def rto_rtd(self) -> float | None:
        """From a packet's send time on the sender's clock to its timeout on the agent's, seconds; None before any
        measurement.

        The time that a child held an acknowledgment back is not in its delay, and is added here; so is the time for
        which a busy agent leaves it lying.
        """
        if self._rto_rtd is None:
            return None
        return self._rto_rtd - self.drift_s + self._options.ack_delay_s + (self._waiting.timeout or 0.0)

    @property
    def overdue(self) -> float | None:
        """As `rto_rtd`, but when something is likely, not certain, to be wrong: two deviations above the mean."""
        if self._rto_rtd is None or self._overdue is None:
            return None
        return self._overdue - self.drift_s + self._options.ack_delay_s + (self._waiting.timeout or 0.0)

    @property
    def rto_rtt(self) -> float:
        """From a repair to its timeout, seconds."""
        return self._rto_rtt + (self._waiting.timeout or 0.0)

    def handled(self, waited_s: float) -> None:
        """Feedback is handled so long after its arrival."""
        self._waiting.add(waited_s)

    def feedback_arrived(self, child: Child, feedback: Feedback, arrived_at: float) -> bool:
        """Take the delays that feedback shows; whether there is a new RTD. Delays are kept as if the two clocks ran at
        one rate.
        """
        measured = False
        echo = feedback.echo_time_us
        if echo and echo != child.echo_time_us:
            rtd = arrived_at - (echo + feedback.held_us) / 1e6 + self.drift_s
            if self._own_clock and not 0 <= rtd <= MAX_TIMEOUT_S:
                self._counters["drop_echo_from_the_future" if rtd < 0 else "drop_echo_too_old"] += 1
            else:
                child.echo_time_us = echo
                child.add_rtd(rtd, self.rtt(child) / 2, arrived_at)
                measured = True
                self.refresh_if_above(child.timeout)
        echo = feedback.repair_echo_us
        if echo and echo != child.repair_echo_us:
            child.repair_echo_us = echo
            rtt = arrived_at - echo / 1e6
            if 0 <= rtt <= MAX_TIMEOUT_S:
                child.repairs.measured(rtt)
                self._add_rtt(child, rtt)
        return measured

    def merged_feedback_arrived(
        self, child: Child, feedback: Feedback, members: Sequence[Child], arrived_at: float
    ) -> None:
        """What switches have merged of `members`: the child's delay is a sample like any other. The others' are known
        by how they differ from it, so that neither the switch's clock nor its drift counts: by how much more the one
        that waits longest waits, for Vegas; and how far the largest time-out is from it.
        """
        if not self.feedback_arrived(child, feedback, arrived_at):
            return
        waiting = child.rtd_last - child.rtd_min + feedback.queue_us / 1e6
        timeout = child.rtd_last + feedback.bound_us / 1e6
        for member in members:
            member.merged_timeout = timeout
            if waiting < member.round_waiting:
                member.round_waiting = waiting
        self.refresh_if_above(timeout, many=True)

    def refresh_if_above(self, timeout: float | None, *, many: bool = False) -> None:
        """A child has this time-out now; `many`: others have it, too."""
        if self._rto_rtd is None:
            self._measured += 1
            if many or self._measured >= self._unmeasured:  # each of those may have been measured by now
                self.refresh()
        elif timeout is not None and timeout > self._rto_rtd:
            self._rto_rtd = timeout

    def probe_answered(self, child: Child, time_us: int, arrived_at: float) -> bool:
        """An answer to a probe (3.3); False when it cannot be true."""
        rtt = arrived_at - time_us / 1e6
        if not 0 <= rtt <= MAX_TIMEOUT_S:
            self._counters["drop_probe_ack_time"] += 1
            return False
        self._add_rtt(child, rtt)
        return True

    def _add_rtt(self, child: Child, rtt: float) -> None:
        first = not child.rtt.samples
        child.rtt.add(rtt)
        timeout = child.rtt.timeout
        if first:
            self.refresh()
        elif timeout is not None and timeout > self._rto_rtt:
            self._rto_rtt = timeout

    def rtt(self, child: Child) -> float:
        """The current estimate, seconds, as in "unless retransmitted within" (3.1)."""
        if child.rtt.samples:
            return child.rtt.mean
        if child.rtd.samples and self._own_clock:
            return child.rtd.mean
        return INITIAL_TIMEOUT_S

    def joined(self) -> None:
        """There is another child, of which nothing is known yet."""
        self._rto_rtd = None
        self._unmeasured += 1
        self._rto_rtt = max(self._rto_rtt, INITIAL_TIMEOUT_S)

    def left(self, child: Child) -> None:
        """A child has gone. Whether it was the one with the longest round trip time shows at the end of the round."""
        if child.timeout is None or self._rto_rtd is None or child.timeout >= self._rto_rtd:
            self.refresh()

    def refresh(self) -> None:
        """Both maxima anew. Called once a round trip, and at once when it may be that one falls."""
        margin = self._options.rto_margin_s / 4
        unmeasured = 0
        rto_rtd = overdue = -inf  # delays may be negative
        rto_rtt = 0.0
        for child in self._children.values():
            rtd = child.rtd
            if rtd.samples:
                overdue = max(overdue, rtd.mean + max(margin, 2 * rtd.deviation))
            timeout = child.timeout
            if timeout is None:
                unmeasured += 1
            elif timeout > rto_rtd:
                rto_rtd = timeout
            timeout = child.rtt.timeout or INITIAL_TIMEOUT_S
            if timeout > rto_rtt:
                rto_rtt = timeout
        self._overdue = None if overdue == -inf else overdue
        self._measured, self._unmeasured = 0, unmeasured
        self._rto_rtd = None if unmeasured or rto_rtd == -inf else rto_rtd
        self._rto_rtt = rto_rtt or INITIAL_TIMEOUT_S
