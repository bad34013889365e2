"""An agent's congestion and transit windows, and the round trips that they go by (MTCP, 3.5 and 3.7)."""

from collections.abc import Iterable
from math import inf

from hosts.parts.vegas import VegasWindow
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS
from hosts.protocols.mtcp.window import TransitWindow


class Windows:
    """cwnd in packets, twnd in bytes."""

    __slots__ = (
        "_cut_floor",
        "_options",
        "_round_end",
        "_round_packets",
        "_round_start",
        "congestion",
        "governing_cwnd",
        "transit",
        "used",
    )

    def __init__(self, options: MtcpOptions, first: int) -> None:
        """`first` is the first packet's sequence number."""
        self._options = options
        self.congestion = VegasWindow(options.vegas, SACK_BITS)
        self.transit = TransitWindow()
        self.used = False
        """Whether cwnd limited the sender in this round trip."""
        self.governing_cwnd = 0
        """Packets: the window that governed the sender lately, 0 when that is not known."""
        self._cut_floor = first  # duplicate NACKs for packets before it have been reacted on
        self._round_end = first
        self._round_start: float | None = None
        self._round_packets = 0

    def begin(self, end: int) -> None:
        """The first child of an agent whose session is under way: slow start would halt everybody for it. The window
        that governs the sender is where it begins (ours).
        """
        self.congestion = VegasWindow(self._options.vegas, SACK_BITS)
        if self.governing_cwnd:
            self.congestion.cwnd = self.congestion.ssthresh = float(self.governing_cwnd)
        self.transit.reset(end)

    def governed_by(self, cwnd: int) -> None:
        """The sender says (with new data) that it goes by a window of `cwnd` packets. A window well above that does not
        limit it, and has no reason to grow.
        """
        self.governing_cwnd = cwnd
        if self.congestion.cwnd <= 2 * cwnd + 2:
            self.used = True

    def completed(self, packets: int, new: int, last: int) -> bool:
        """All children have so many more packets; `new` of them were in transit, `last` is one more than the last.
        Whether that ends the round trip: then `end_round` is due.
        """
        self._round_packets += packets
        self.congestion.acknowledged(new)
        return last > self._round_end

    def end_round(self, base: int, end: int, children: Iterable[Child], now: float) -> None:
        """All that was sent when the round began has been acknowledged by all.

        The next round ends with what is on its way now: at an agent below the sender that is more than the packets
        from `base` to `end`, that it has seen and its children have not acknowledged; the sender has sent up to a whole
        window, and what it will send after the next report comes behind that.
        """
        elapsed = 0.0 if self._round_start is None else now - self._round_start
        delay = 0.0
        for child in children:
            waiting = child.take_waiting()
            if delay < waiting < inf:
                delay = waiting
        if elapsed > 0:
            self.congestion.round_trip_ended(delay * self._round_packets / elapsed, self.used)
        self._round_end = max(end, base + self.governing_cwnd)
        self._round_start = now
        self._round_packets = 0
        self.used = False

    def timed_out(self, end: int, *, again: bool) -> None:
        """A retransmission timer expired (3.5, 3.7); `again`: not for the first time."""
        self.congestion.timed_out(again=again)
        self.transit.reset(end)
        self._cut_floor = end

    def cut(self, seq: int, end: int) -> bool:
        """Duplicate NACKs for packet `seq` mean congestion; False when that window has been reacted on."""
        if seq < self._cut_floor:
            return False
        self._cut_floor = end
        self.congestion.cut()
        return True
