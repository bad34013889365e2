"""What a parent keeps of its children: each one's record and delays, and the extremes over all of them (MTCP, 3.2 to
3.4).
"""

import heapq
from collections import Counter, deque
from collections.abc import Mapping
from math import inf

from hosts.endpoint import Address
from hosts.parts.base_delay import WINDOW_S, BaseDelay
from hosts.parts.rtt import INITIAL_TIMEOUT_S, DelayEstimator
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Feedback
from hosts.protocols.mtcp.repairs import Repairs
from hosts.protocols.mtcp.wire import UNLIMITED

MAX_TIMEOUT_S = 60.0
"""Exponential backoff ends here, and no round trip is longer: RFC 6298 (2.5)."""
HYSTART_SAMPLES = 2
"""Measurements in a round trip from which on the least of it says that slow start has built up a queue: the eight
packets of RFC 9406, 4.2, for each is of the one that waited least of `ack_every`."""
BASE_ROUNDS = 30
"""Round trips within which the base delay is looked for at least: two drains' (hosts/parts/coexistence.py; ours)."""
STALE_LIMIT = 64
"""So many outdated entries beside one for each key are kept before `Least` builds its heap anew."""


class Child:
    """One child's delays, congestion summary, advertised window, repairs and record."""

    __slots__ = (
        "address",
        "advertised_end",
        "advertised_window",
        "agent",
        "answered_at",
        "aside",
        "base",
        "buffer_bytes",
        "cumulative",
        "echo_time_us",
        "epoch",
        "feedback",
        "first",
        "first_offset",
        "heard_at",
        "highest_offset",
        "holds",
        "in_turn",
        "last_loss",
        "loss_floor",
        "loss_share",
        "losses",
        "lost",
        "max_twnd",
        "merge",
        "merged_timeout",
        "min_cwnd",
        "number",
        "probed_at",
        "progress_at",
        "repair_echo_us",
        "repaired",
        "repairs",
        "round_rtd",
        "round_samples",
        "round_waiting",
        "rtd",
        "rtd_last",
        "rtd_min",
        "rtt",
        "spare",
        "summarised",
        "waits",
    )

    def __init__(
        self,
        number: int,
        address: Address,
        options: MtcpOptions,
        now: float,
        *,
        first: int,
        first_offset: int,
        buffer_bytes: int,
    ) -> None:
        """`first` and `first_offset`: from which packet and byte on it gets the stream from here."""
        self.number = number
        self.address = address
        self.epoch = 0  # of its join
        self.agent = self.spare = False  # what it said of itself
        self.merge = False  # switches may merge its feedback with others'
        self.summarised = False  # they have
        # Of merged feedback (agent.py): the largest time-out of those that it stands for, and whether this child is
        # among those that it waits for. Only these are repaired upon a time-out.
        self.merged_timeout: float | None = None
        self.holds = True
        self.first = first
        self.first_offset = first_offset
        self.cumulative = first  # the first packet that it lacks
        self.rtd = DelayEstimator(options.rto_margin_s)  # its clock's origin is the sender's minus ours
        self.rtd_last = 0.0
        self.base = BaseDelay(WINDOW_S if options.adaptive else inf)  # Vegas' base delay: the paper's is the session's
        self.rtd_min = 0.0  # what it says
        self.waits: deque[float] = deque(maxlen=HYSTART_SAMPLES)  # in queues, of the last measurements
        self.rtt = DelayEstimator(options.rto_margin_s)
        self.round_rtd = inf  # least relative time delay in this round trip
        self.round_samples = 0  # measurements of it
        self.round_waiting = inf  # the least of this round trip that merged feedback says it waited in queues at most
        self.echo_time_us = 0  # of the last feedback that was measured
        self.repair_echo_us = 0
        self.min_cwnd = UNLIMITED  # bytes
        self.max_twnd = 0  # bytes, of the packets that it had when it said so
        self.highest_offset = first_offset  # stream offset behind the last packet that it had then
        self.buffer_bytes = buffer_bytes  # its whole buffer
        self.advertised_window = buffer_bytes  # bytes free
        self.advertised_end = first_offset + buffer_bytes  # stream offset up to which it takes data
        self.repairs = Repairs(options.vegas, SACK_BITS)
        self.heard_at = now
        self.answered_at = now  # its last feedback
        self.aside = False  # aside.py
        self.progress_at = now
        self.probed_at = now
        self.in_turn = False  # its probes have their place among the other children's
        self.feedback = 0  # packets
        self.lost = 0  # packets that it reported missing
        self.losses = 0.0  # round trips with a loss (losses.py)
        self.loss_share = 0.0  # of its packets, that were lost lately (losses.py)
        self.last_loss = first  # the packet that it lost last
        self.loss_floor = first  # losses of packets before it belong to the last of these
        self.repaired = 0  # repairs sent to it

    def acknowledged(
        self, cumulative: int, advertised_window: int, offset: int | None, highest: int | None, now: float
    ) -> bool:
        """It has all before packet `cumulative`, which lies at `offset` in the stream, and takes so many bytes from
        there on; the last packet that it has ends at `highest`. Whether that opens its advertised window further.
        """
        self.advertised_window = advertised_window
        if cumulative > self.cumulative:
            self.cumulative = cumulative
            self.progress_at = now
        if highest is not None and highest > self.highest_offset:
            self.highest_offset = highest
        if offset is not None and offset + advertised_window > self.advertised_end:
            self.advertised_end = offset + advertised_window
            self.progress_at = now
            return True
        return False

    def add_rtd(self, rtd: float, first_deviation_s: float, now: float) -> None:
        """A relative time delay was measured, seconds."""
        self.base.add(rtd, now)
        self.rtd_min = self.base.least
        self.waits.append(rtd - self.rtd_min)
        self.rtd_last = rtd
        self.rtd.add(rtd, first_deviation_s)
        self.round_samples += 1
        if rtd < self.round_rtd:
            self.round_rtd = rtd

    def take_waiting(self) -> float:
        """For how long this round trip's data waited in queues on the way to it, at least, seconds; inf when nothing
        tells. Another round trip begins.
        """
        waiting = min(max(0.0, self.round_rtd - self.rtd_min), self.round_waiting)
        self.round_rtd = self.round_waiting = inf
        self.round_samples = 0
        return waiting

    def on_its_own(self) -> None:
        """It has spoken for itself, or is not in what switches merge any more."""
        self.merged_timeout = None
        self.holds = True

    @property
    def timeout(self) -> float | None:
        """From a packet's send time on the sender's clock to the time-out on ours; None: nothing was measured."""
        return self.rtd.timeout if self.merged_timeout is None else self.merged_timeout

    @property
    def keep_offset(self) -> int:
        """Up to here in the stream neither the child nor anybody below it needs anything any more.

        A node takes data up to its buffer's size beyond the first byte that it, or somebody below it, still needs: so
        its advertised window says what that byte is.
        """
        return self.advertised_end - self.buffer_bytes


class Least:
    """Each key has a number; `value` is the least of them.

    Each key has an entry in a heap that is not above its number: one that grows costs nothing until it is looked at as
    the least. So numbers that mostly grow, as places in a stream and times do, cost O(log n) a look at a new least, and
    one that falls costs O(log n).
    """

    __slots__ = ("_empty", "_heap", "_values")

    def __init__(self, empty: float) -> None:
        """`empty`: the value of no keys at all."""
        self._empty = empty
        self._values: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def set(self, key: int, value: float) -> None:
        """Add a key or change its value."""
        values = self._values
        old = values.get(key)
        values[key] = value
        if old is not None and old <= value:
            return
        if len(self._heap) > 2 * len(values) + STALE_LIMIT:
            self._heap = [(value, key) for key, value in values.items()]
            heapq.heapify(self._heap)
        else:
            heapq.heappush(self._heap, (value, key))

    def set_all(self, keys: list[int], value: float) -> None:
        """Change these keys, which are there and ascending, to the same value. Without others the heap is made anew."""
        values = self._values
        if len(keys) < len(values):
            for key in keys:
                self.set(key, value)
        else:
            self._values = dict.fromkeys(keys, value)
            self._heap = [(value, key) for key in keys]

    def remove(self, key: int) -> None:
        """Forget a key."""
        self._values.pop(key, None)

    @property
    def value(self) -> float:
        """The least of all."""
        heap, values = self._heap, self._values
        while heap:
            entry, key = heap[0]
            value = values.get(key)
            if value == entry:
                return entry
            if value is None or value < entry:  # its own entry is another one
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, (value, key))
        return self._empty

    @property
    def key(self) -> int:
        """A key that has it. There must be one."""
        if self.value == self._empty and not self._values:
            raise ValueError("the least of nothing")
        return self._heap[0][1]


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
