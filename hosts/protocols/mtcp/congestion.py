"""What lets the sender send: cwnd, twnd, and the congestion summaries of the subtree (MTCP, 3.5, 3.7 and 3.8).

cwnd is in packets; all else are bytes.
"""

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from hosts.parts.adaptive import AdaptiveWindow
from hosts.parts.rtt import INITIAL_TIMEOUT_S
from hosts.parts.vegas import VegasWindow
from hosts.protocols.mtcp.adaptive_control import AdaptiveControl
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.least import Least
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.pacing import GAIN
from hosts.protocols.mtcp.paper_control import PaperControl
from hosts.protocols.mtcp.window_control import WindowControl
from hosts.protocols.mtcp.wire import UNLIMITED


class TransitWindow:
    """twnd: bytes that have been sent towards the children and that not all of them have acknowledged."""

    __slots__ = ("_floor", "size")

    def __init__(self) -> None:
        self.size = 0
        self._floor = 0

    def sent(self, size: int) -> None:
        """A new packet is on its way to the children."""
        self.size += size

    def counts(self, seq: int) -> bool:
        """Whether packet `seq` was sent after the last reset, so that it is part of the window."""
        return seq >= self._floor

    def acknowledged(self, seq: int, size: int) -> None:
        """All children have packet `seq` now. One sent before the last reset no longer counts."""
        if seq >= self._floor:
            self.size -= size

    def reset(self, next_seq: int) -> None:
        """A retransmission timer expired: what was sent before `next_seq` is not counted as in transit any more."""
        self.size = 0
        self._floor = next_seq


class Summary(NamedTuple):
    """A congestion summary: what a node tells its parent of the subtree below."""

    min_cwnd: int
    max_twnd: int

    @property
    def current_window(self) -> int:
        """What the sender may add to what is in transit."""
        return max(0, self.min_cwnd - self.max_twnd)


class Summaries:
    """The children's congestion summaries and their extremes, at most O(log n) a change."""

    __slots__ = ("_min_cwnds", "_twnd_floor", "_twnd_starts")

    def __init__(self, offset: int) -> None:
        """`offset`: place in the stream of the first packet that is sent."""
        self._min_cwnds = Least(UNLIMITED)
        self._twnd_starts = Least(inf)  # of agents: where in the stream that begins which is in transit
        self._twnd_floor = offset  # what lies before it is not in transit any more: there was a timeout

    def add(self, child: Child) -> None:
        """A child, as it was admitted."""
        self._min_cwnds.set(child.number, child.min_cwnd)

    def remove(self, child: Child) -> None:
        """It is none any more."""
        self._min_cwnds.remove(child.number)
        self._twnd_starts.remove(child.number)

    def timed_out(self, end_offset: int) -> None:
        """What was sent up to here does not count as in transit any more."""
        self._twnd_floor = end_offset

    def update(self, child: Child, min_cwnd: int, max_twnd: int) -> bool:
        """The child's summary; `child.highest_offset` is known by now. Whether that may change the subtree's."""
        child.max_twnd = max_twnd
        if min_cwnd != UNLIMITED:
            self._twnd_starts.set(child.number, max(child.highest_offset, self._twnd_floor) - max_twnd)
        elif child.min_cwnd == UNLIMITED:
            return False  # a leaf, as before
        else:
            self._twnd_starts.remove(child.number)
        child.min_cwnd = min_cwnd
        self._min_cwnds.set(child.number, min_cwnd)
        return True

    def update_all(self, children: Iterable[Child], min_cwnd: int, max_twnd: int) -> bool:
        """All of these have the same."""
        if min_cwnd == UNLIMITED:
            children = [child for child in children if child.min_cwnd != UNLIMITED or child.max_twnd != max_twnd]
        changed = False
        for child in children:
            changed |= self.update(child, min_cwnd, max_twnd)
        return changed

    @property
    def min_cwnd(self) -> int:
        """The least of the children's."""
        return int(self._min_cwnds.value)

    def of_subtree(self, cwnd_bytes: int, twnd: int, end_offset: int) -> Summary:
        """min_cwnd and max_twnd of the subtree, from the agent's own windows; `end_offset`: all before it was sent.

        A child's max_twnd is of the packets that it had when it told it. What was sent since is in transit below it as
        well (ours: otherwise each look at an old summary would allow its whole difference to min_cwnd again).
        """
        below = end_offset - self._twnd_starts.value
        return Summary(min(cwnd_bytes, self.min_cwnd), int(max(twnd, below)))


class Congestion:
    """An agent's own cwnd and twnd, the round trips that they go by, and its children's summaries."""

    __slots__ = (
        "_cut_floor",
        "_options",
        "_own_clock",
        "_round_end",
        "_round_packets",
        "_round_start",
        "control",
        "governing_cwnd",
        "network_s",
        "rate",
        "rtt_s",
        "summaries",
        "twnd",
        "used",
    )

    def __init__(self, options: MtcpOptions, first: int, first_offset: int, *, own_clock: bool) -> None:
        """`first` is the first packet's sequence number, `first_offset` its place in the stream; `own_clock`: the agent
        is the sender itself, so that relative time delays are round trip times.
        """
        self._options = options
        self._own_clock = own_clock
        self.control: WindowControl = (
            AdaptiveControl(options, first, own_clock=own_clock) if options.adaptive else PaperControl(options)
        )
        """What the session's rules make of the window."""
        self.twnd = TransitWindow()
        self.summaries = Summaries(first_offset)
        self.used = False
        """Whether cwnd limited the sender in this round trip."""
        self.governing_cwnd = 0
        """Packets: the window that governed the sender lately, 0 when that is not known."""
        self.rtt_s = INITIAL_TIMEOUT_S
        """From a packet's departure to the acknowledgment of the last child."""
        self.rate = 0.0
        """Packets/s that all children got in the last round trip."""
        self.network_s = 0.0
        """The round trip time of the slowest child, without what hosts take; 0: not known, or not paced by that."""
        self._cut_floor = first  # losses of packets before it have been reacted on
        self._round_end = first
        self._round_start: float | None = None
        self._round_packets = 0

    @property
    def window(self) -> VegasWindow | AdaptiveWindow:
        """cwnd (3.5)."""
        return self.control.window

    @property
    def pace(self) -> float | None:
        """Packets a second at which what the window allows is to leave; None: as it comes. So is slow start, which sees
        the queue of a burst in the round trip of that burst: paced, it would see it one later, with twice the window.
        """
        if not self.network_s or self.window.slow_start:
            return None
        return GAIN * self.window.cwnd / self.network_s

    @property
    def beside_others(self) -> bool:
        """Whether somebody else is known to fill the queue."""
        window = self.window
        return isinstance(window, AdaptiveWindow) and window.beside_others

    def begin(self, end: int) -> None:
        """The first child of an agent whose session is under way: slow start would halt everybody for it. The window
        that governs the sender is where it begins (ours).
        """
        self.control.renew()
        if self.governing_cwnd:
            self.window.cwnd = self.window.ssthresh = float(self.governing_cwnd)
        self.twnd.reset(end)

    def governed_by(self, cwnd: int) -> None:
        """The sender says (with new data) that it goes by a window of `cwnd` packets. A window well above that does not
        limit it, and has no reason to grow.
        """
        self.governing_cwnd = cwnd
        if self.window.cwnd <= 2 * cwnd + 2:
            self.used = True

    def summary(self, end_offset: int) -> Summary:
        """min_cwnd and max_twnd of the subtree (3.8); all before `end_offset` was sent."""
        cwnd_bytes = int(self.window.cwnd * self._options.payload_bytes)
        return self.summaries.of_subtree(cwnd_bytes, self.twnd.size, end_offset)

    def completed(self, packets: int, new: int, last: int, now: float) -> bool:
        """All children have so many more packets; `new` of them were in transit, `last` is one more than the last.
        Whether that ends the round trip: then `end_round` is due.
        """
        self._round_packets += packets
        self.control.acknowledged(new, self.rtt_s, now)
        return last > self._round_end

    def end_round(self, base: int, end: int, children: Iterable[Child], now: float) -> None:
        """All that was sent when the round began has been acknowledged by all.

        The next round ends with what is on its way now: at an agent below the sender that is more than the packets
        from `base` to `end`, that it has seen and its children have not acknowledged; the sender has sent up to a whole
        window, and what it will send after the next summary comes behind that.
        """
        elapsed = 0.0 if self._round_start is None else now - self._round_start
        children = list(children)
        delay = rtt_s = 0.0
        for child in children:
            waiting = child.take_waiting()
            if delay < waiting < inf:
                delay = waiting
            if self._own_clock and child.rtd.samples:
                # The mean lags behind a queue that has just become longer than the path.
                rtt_s = max(rtt_s, child.rtd.mean, child.rtd_min + waiting if waiting < inf else 0.0)
        if elapsed > 0:
            # Of another agent's paths only differences of delays are known; a round is hardly longer than they.
            self.rtt_s = rtt_s or elapsed
            if self._options.adaptive and self._options.assist == "none":
                self.network_s = rtt_s
            self.rate = self._round_packets / elapsed
            self.control.round_trip_ended(delay, self.rate, self.rtt_s, self.used, children, now)
        self._round_end = max(end, base + self.governing_cwnd)
        self._round_start = now
        self._round_packets = 0
        self.used = False

    def timed_out(self, end: int, end_offset: int, *, again: bool) -> None:
        """A retransmission timer expired (3.5, 3.7) when all before packet `end` was sent; `again`: not for the first
        time.
        """
        self.control.timed_out(end, again=again)
        self.twnd.reset(end)
        self._cut_floor = end
        self.summaries.timed_out(end_offset)

    def forgive(self) -> None:
        """The timeouts were of a child that is waited for no longer, or of nothing that was lost on the way there."""
        self.control.forgive()

    def hears(self, share: float) -> None:
        """So much of what children say comes."""
        self.control.hears(share)

    def blame(self) -> None:
        """The timeouts were of losses."""
        self.control.blame()

    def cut(self, seq: int, end: int) -> bool:
        """Duplicate NACKs for packet `seq` mean congestion; False when that window has been reacted on."""
        if seq < self._cut_floor:
            return False
        self._cut_floor = end
        self.control.cut(end)
        return True

    def measured(self, child: Child) -> None:
        """The child's delay was measured."""
        self.control.measured(child)

    def lost(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        """The child, one of `children`, lacks packet `seq`; `end`: all before it was sent. Whether that was taken for
        congestion.
        """
        return self._reacted(self.control.lost(child, seq, end, children), end)

    def marked(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        """A queue on the way to the child has marked packet `seq` or one before it (ECN). Likewise."""
        return self._reacted(self.control.marked(child, seq, end, children), end)

    def _reacted(self, is_congestion: bool, end: int) -> bool:
        if is_congestion:
            self._cut_floor = end
        return is_congestion
