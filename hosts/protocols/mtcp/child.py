"""What an agent keeps of each of its children."""

from math import inf

from hosts.endpoint import Address
from hosts.parts.rtt import DelayEstimator
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS
from hosts.protocols.mtcp.repairs import Repairs
from hosts.protocols.mtcp.wire import UNLIMITED


class Child:
    """One child's delays, summary, repairs and record."""

    __slots__ = (
        "address",
        "agent",
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
        "round_waiting",
        "rtd",
        "rtt",
        "spare",
        "window",
        "window_end",
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
        # Of merged feedback (merged.py): the largest time-out of those that it stands for, and whether this child is
        # among those that it waits for. Only these are repaired upon a time-out.
        self.merged_timeout: float | None = None
        self.holds = True
        self.first = first
        self.first_offset = first_offset
        self.cumulative = first  # the first packet that it lacks
        self.rtd = DelayEstimator(options.rto_margin_s)  # its clock's origin is the sender's minus ours
        self.rtt = DelayEstimator(options.rto_margin_s)
        self.round_rtd = inf  # least relative time delay in this round trip
        self.round_waiting = inf  # the least of this round trip that merged feedback says it waited in queues at most
        self.echo_time_us = 0  # of the last feedback that was measured
        self.repair_echo_us = 0
        self.min_cwnd = UNLIMITED  # bytes
        self.max_twnd = 0  # bytes, of the packets that it had when it said so
        self.highest_offset = first_offset  # stream offset behind the last packet that it had then
        self.buffer_bytes = buffer_bytes  # its whole buffer
        self.window = buffer_bytes  # bytes free, as it was advertised
        self.window_end = first_offset + buffer_bytes  # stream offset up to which it takes data
        self.repairs = Repairs(options.vegas, SACK_BITS)
        self.heard_at = now
        self.progress_at = now
        self.probed_at = now
        self.in_turn = False  # its probes have their place among the other children's
        self.feedback = 0  # packets
        self.lost = 0  # packets that it reported missing
        self.repaired = 0  # repairs sent to it

    def told(self, cumulative: int, window: int, offset: int | None, highest: int | None, now: float) -> bool:
        """It has all before packet `cumulative`, which lies at `offset` in the stream, and takes `window` bytes from
        there on; the last packet that it has ends at `highest`. Whether that moves the end of its window.
        """
        self.window = window
        if cumulative > self.cumulative:
            self.cumulative = cumulative
            self.progress_at = now
        if highest is not None and highest > self.highest_offset:
            self.highest_offset = highest
        if offset is not None and offset + window > self.window_end:
            self.window_end = offset + window
            self.progress_at = now
            return True
        return False

    def take_waiting(self) -> float:
        """For how long this round trip's data waited in queues on the way to it, at least, seconds; inf when nothing
        tells. Another round trip begins.
        """
        waiting = min(self.round_rtd - self.rtd.minimum, self.round_waiting)
        self.round_rtd = self.round_waiting = inf
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
        return self.window_end - self.buffer_bytes
