"""What a parent keeps of each of its children: its record and its delays (MTCP, 3.2 to 3.4)."""

from collections import deque
from math import inf

from hosts.endpoint import Address
from hosts.parts.base_delay import WINDOW_S, BaseDelay
from hosts.parts.rtt import DelayEstimator
from hosts.parts.silence import Presence
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS
from hosts.protocols.mtcp.repairs import Repairs
from hosts.protocols.mtcp.wire import UNLIMITED

HYSTART_SAMPLES = 2
"""Measurements in a round trip from which on the least of it says that slow start has built up a queue: the eight
packets of RFC 9406, 4.2, for each is of the one that waited least of `ack_every`."""
RUN_SAMPLES = 8
"""The same where hosts send and read runs: what a processor's pause delays, it delays for all of a run and what comes
with it, so of two measurements both often say so (RFC 9406, 4.2, has eight). Slow start still ends by two: what it
finds too late it has sent twice."""
BASE_ROUNDS = 30
"""Round trips within which the base delay is looked for at least: two drains' (hosts/parts/coexistence.py; ours)."""


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
        "interval",
        "last_loss",
        "loss_floor",
        "loss_share",
        "losses",
        "lost",
        "max_twnd",
        "merge",
        "merged_timeout",
        "min_cwnd",
        "misheard_at",
        "news_at",
        "number",
        "presence",
        "probe_waits",
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
        self.presence = Presence()
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
        self.interval = DelayEstimator(0.0)  # from one feedback to the next, as they come
        self.misheard_at = -inf  # when it was last found that what it had said was lost
        self.aside = False  # aside.py
        self.progress_at = now
        self.news_at = now  # it told of a packet that it had not told of before
        self.probed_at = now
        self.probe_waits = False  # for its answer
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
            self.presence.told(now)
            self.progress_at = self.news_at = now
        if highest is not None and highest > self.highest_offset:
            self.highest_offset = highest
            self.news_at = now
        if offset is not None and offset + advertised_window > self.advertised_end:
            self.advertised_end = offset + advertised_window
            if advertised_window <= self.buffer_bytes:  # its application has taken more of what it has
                self.presence.told(now)
            if self.presence.is_proven:
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
