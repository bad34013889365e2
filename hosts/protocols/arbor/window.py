"""The window that a TCP would have that sends what a receiver hears: TEAR's idea (Rhee, Ozdemir and Yi 2000), with the
TCP of today.

    losses, and marks of a queue that is long    CUBIC (RFC 9438), slow start by HyStart++ (RFC 9406)
    marks of a queue that is short               Prague: the window falls by half the part that is marked, and grows by
                                                 a packet a round trip (draft-briscoe-iccrg-prague-congestion-control)

It sends nothing by that window unless it is the least of all: the sender's rate stands for its own. So it grows to no
more than twice what the sender has in flight to it (RFC 7661, 4.3: what is not used is not validated).

Windows are in packets; times in seconds. What was sent before a cut could be felt is told by the sender's clock, in
whole microseconds.
"""

from math import inf
from typing import Final, NamedTuple

from hosts.parts.cubic import BETA, SLOW_START_CUT, Cubic
from hosts.parts.rounds import CAUTIOUS_DIVISOR, CAUTIOUS_ROUNDS, Rounds
from hosts.protocols.arbor.drains import Drains
from hosts.protocols.arbor.level import Level
from hosts.protocols.arbor.marks import Marks

LEAST_CWND: Final = 2.0
"""RFC 5681, 4.2: what congestion leaves at least."""
SHORT_QUEUE_S: Final = 0.0025
"""Marks behind no more than this are an L4S queue's, which begins to mark at 1 ms (RFC 9332, 2.4: its ramp ends below
2 ms); a classic one's target is 5 ms and more (RFC 8289, 8033)."""
SHORT_QUEUE_PACKETS: Final = 2
"""On slow links a packet or two take longer than that."""
DENSE_MARKS: Final = 1 / 2
"""Of the packets of late: a queue that marks so many marks each that has waited, as L4S queues do, however long it is
just now; a classic one marks one now and then (RFC 8289, 5.3; RFC 8033, 5.1: 10 % at most) (ours)."""
REFERENCE_RTT_S: Final = 0.025
"""Prague's, 2.4.4: flows of a shorter round trip time grow as if it were this, and look so long for marks."""
CLASSIC_WAIT_S: Final = 0.015
"""For which classic packets wait in a DualPI2 queue (RFC 9332, appendix A.1: target)."""
UNMARKED_ROUNDS: Final = 8
"""After so many of Prague's round trips without a mark the link has room: growth is CUBIC's again (ours)."""
HIGH_QUEUE: Final = 1 / 2
"""Of the longest wait of the last while: a loss behind no more than this is the link's, not the queue's (ours)."""
BESIDE_BBR: Final = 1 / 8
"""Of a cut is made while a BBR fills the queue, which answers no loss: what makes a fifth of its rate a half (ours)."""
NOISE_S: Final = 0.001
NOISE_RTTS: Final = 1 / 16
"""Waits shorter than both (or than what is between two packets) are hosts' and not a queue's (ours)."""
SMOOTHING: Final = 7 / 8
"""What a packet leaves of a mean of those of late (ours)."""
_MICRO: Final = 1e-6


class Arrival(NamedTuple):
    """What is known of a packet that came: `rtt` is the receiver's own, `loop` the time in which the sender reacts (the
    rtt of whom it goes by, if that is longer), `rate` the sender's.
    """

    at: float
    sent_us: int
    rtt: float
    loop: float
    transit: float
    waiting: float
    marked: bool
    rate: float = 0.0


class EmulatedWindow:
    """One receiver's."""

    __slots__ = (
        "_cautious",
        "_cubic",
        "_cut_until_us",
        "_dense",
        "_drains",
        "_gap",
        "_marks",
        "_maximum",
        "_observed_at",
        "_reduced_at",
        "_rounds",
        "_unmarked",
        "_waiting",
        "cuts",
        "cwnd",
        "level",
        "scalable",
        "slow_start",
    )

    def __init__(self, first: float, maximum: float) -> None:
        self.cwnd = float(first)
        self.level = Level()
        """Its mean, after losses without a queue."""
        self.slow_start = True
        self.scalable = False
        """The last congestion was marks of a short queue."""
        self.cuts = 0
        self._maximum = float(maximum)
        self._cubic = Cubic()
        self._marks = Marks()
        self._drains = Drains()
        self._observed_at = -inf  # for marks
        self._reduced_at = -inf  # for marks of a short queue
        self._rounds = Rounds()
        self._cautious: int | None = None  # rounds of conservative slow start so far
        self._cut_until_us = 0  # what was sent before knew nothing of the last cut
        self._unmarked = 0  # round trips on end
        self._waiting = 0.0  # smoothed
        self._dense = 0.0  # the part of the packets that come marked, smoothed likewise
        self._gap = 0.0  # seconds between packets at this window

    def arrived(self, packet: Arrival, most: float, count: int = 1) -> bool:
        """A packet came, or `count` unmarked ones that left together; the window is not to grow beyond `most`. Whether
        it was cut.
        """
        sent_us = packet.sent_us
        part = 1 - SMOOTHING**count
        self._waiting += (packet.waiting - self._waiting) * part
        self._dense += (packet.marked - self._dense) * part
        self._gap = packet.rtt / self.cwnd
        self._marks.arrived(packet.marked, count, packet.waiting)
        self._drains.add(packet.at, packet.waiting, packet.rtt)
        if self._rounds.add(packet.transit, sent_us, sent_us + int(packet.rtt * 1e6), count):
            self._round_ended(packet)
        is_due = sent_us >= self._cut_until_us
        if packet.marked:
            return is_due and self._marked(packet)
        # Prague's window grows by what comes unmarked while it is reduced, too; beside a BBR each round trip may lose.
        if is_due or self.scalable or self._drains.shows_bbr(packet.at):
            self._grow(packet, min(most, self._maximum), count)
        return False

    def _reference(self, rtt: float) -> float:
        """Whose round trip time a scalable window grows and is cut by: beside classic flows theirs, whose packets wait
        for longer at the same bottleneck.
        """
        return max(REFERENCE_RTT_S, rtt + CLASSIC_WAIT_S * self._marks.coupled)

    def _round_ended(self, packet: Arrival) -> None:
        if packet.at >= self._observed_at + self._reference(packet.rtt):
            self._observed_at = packet.at
            self._unmarked = 0 if self._marks.round_ended() else self._unmarked + 1
        self.level.round_ended(self.cwnd, packet.rate)
        if self._cautious is not None:
            self._cautious += 1
            if self._cautious > CAUTIOUS_ROUNDS:
                self._avoid()

    def _grow(self, packet: Arrival, most: float, count: int) -> None:
        if self.cwnd >= most:
            if self.cwnd > most:
                self._cubic.hold()
                self.cwnd = max(LEAST_CWND, most)
            return
        if self.slow_start:
            self.cwnd = min(most, self.cwnd + (count if self._cautious is None else count / CAUTIOUS_DIVISOR))
            if self._cautious is None:
                if self._rounds.are_longer:
                    self._cautious = 0
                    self._rounds.remember()
            elif self._rounds.are_short_again:
                self._cautious = None
            return
        grown = self._cubic.acknowledged(self.cwnd, count, packet.rtt, packet.at)
        if self.scalable and self._unmarked < UNMARKED_ROUNDS:
            ratio = min(1.0, packet.rtt / self._reference(packet.rtt))
            grown = self.cwnd + count * ratio * ratio / self.cwnd
        self.cwnd = min(most, grown)

    def _avoid(self) -> None:
        self.slow_start = False
        self._cautious = None

    def _marked(self, packet: Arrival) -> bool:
        """A queue marks instead of dropping. Whether the window is cut for it."""
        is_short = self._waiting <= max(SHORT_QUEUE_S, SHORT_QUEUE_PACKETS * self._gap)
        self.scalable = is_short or self._dense >= DENSE_MARKS
        if self.scalable and packet.at < self._reduced_at + self._reference(packet.rtt):
            return False
        if self.scalable:
            self._reduced_at = packet.at
            self._unmarked = 0
        self._cut(1 - self._marks.share() / 2 if self.scalable else BETA, packet)
        self.level.forget()
        return True

    def lost(self, packet: Arrival, longest_wait: float) -> bool:
        """Packets before this one were lost, where packets of late have waited for so long at most. Whether the window
        was cut for it.
        """
        if packet.sent_us < self._cut_until_us:
            return False
        self.scalable = False
        begins, before = self.slow_start, self.cwnd
        self._cut(SLOW_START_CUT if begins and self._cautious is None else BETA, packet)
        noise = max(min(NOISE_S, NOISE_RTTS * packet.rtt), self._gap)
        if begins or packet.waiting >= max(HIGH_QUEUE * longest_wait, noise):
            self.level.forget()  # or slow start's windows are not what it will have
        if packet.waiting < max(HIGH_QUEUE * longest_wait, noise):
            self.level.lost(self.cwnd if begins else before, packet.rate)
        return True

    def slowed(self, packet: Arrival, share: float) -> None:
        """The link carries this share of what it did: this window's part of it is that of before."""
        self.cuts += 1
        self._avoid()
        self._cubic.hold()
        self.level.forget()
        self.cwnd = max(LEAST_CWND, share * self.cwnd)
        self._cut_until_us = packet.sent_us + int(packet.loop / _MICRO)

    def begin(self, most: float) -> None:
        """The sender goes by this window from now on: by its mean, if that is what was asked for."""
        if self.cwnd < self.level.mean:
            self.cwnd = max(self.cwnd, min(self.level.mean, most))
            self._cubic.hold()

    @property
    def standing(self) -> float:
        """What it is, but for losses without a queue that may be chance."""
        return max(self.cwnd, self.level.mean)

    def _cut(self, share: float, packet: Arrival) -> None:
        self.cuts += 1
        if not self.slow_start and self._drains.shows_bbr(packet.at):
            share = 1 - BESIDE_BBR * (1 - share)
        self._avoid()
        self.cwnd = max(LEAST_CWND, self._cubic.lost(self.cwnd, share))
        self._cut_until_us = packet.sent_us + int(packet.loop / _MICRO)
