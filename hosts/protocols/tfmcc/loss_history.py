"""A receiver's loss events and loss intervals (TFMCC 2.3, Appendices A and B; TFRC, RFC 5348, 5).

A packet is lost when three packets with higher sequence numbers have arrived without it. Losses within one round trip
time after an event's first loss belong to that event; a loss interval is the number of packets from one event's first
loss to the next one's. A packet that arrives in order costs a comparison; the average is computed when it is asked for.

Sequence numbers are unbounded integers, times in seconds, intervals in packets.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

REORDERED_PACKETS: Final = 3
"""RFC 5348, 5.1, NDUPACK: so many later packets make one lost."""
LEAST_DISCOUNT: Final = 0.5
"""RFC 5348, 5.5, THRESHOLD."""
MOST_GAPS: Final = 1024
"""Ranges that may still be filled; a late packet in the middle of one makes two of it (ours)."""
LOG_RANGES: Final = 256
"""Ranges of lost packets that are remembered until the first RTT measurement (Appendix A: "some of the more recently
lost packets"; ours)."""


def interval_weights(count: int) -> tuple[float, ...]:
    """Weights of the most recent intervals first: the newer half equal, then falling to nearly 0 (2.3).

    For 8 they are the paper's 5, 5, 5, 5, 4, 3, 2, 1, over 5. Raises ValueError for fewer than 2.
    """
    if count < 2:
        raise ValueError("a loss history needs at least 2 intervals")
    half = count // 2
    return tuple(1.0 if i < half else 1 - (i - half + 1) / (count - half + 1) for i in range(count))


class _Gap(NamedTuple):
    """Packets that have not arrived, between two that have."""

    first: int
    last: int
    noticed: int
    """How many packets had arrived in order when it was seen, the one that showed it included."""
    before: int
    before_at: float
    after: int
    after_at: float

    def time_of(self, seq: int) -> float:
        """When a packet would have arrived (RFC 5348, 5.2)."""
        return self.before_at + (seq - self.before) / (self.after - self.before) * (self.after_at - self.before_at)


class LossHistory:
    """See the module."""

    __slots__ = (
        "_advanced",
        "_discounts",
        "_event_at",
        "_event_first",
        "_first_interval",
        "_gaps",
        "_intervals",
        "_is_discounting",
        "_log",
        "_log_is_cut",
        "_older_mean",
        "_older_total",
        "_older_weight",
        "_renewed",
        "_weights",
        "events",
        "highest",
        "highest_at",
        "initial_interval",
        "lost_packets",
    )

    def __init__(
        self,
        weights: Sequence[float],
        first_interval: Callable[[], float],
        *,
        discounting: bool = True,
        renewed: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`first_interval` is asked at the first loss event for the interval before it (Appendix B), `renewed` at all
        others for one that fills the whole history, if that is longer than those in it are on average. (Alone it would
        weigh as much as the next one, and a queue that is not yet empty a round trip later ends that one at once.)"""
        self._weights = tuple(weights)
        self._first_interval = first_interval
        self._renewed = renewed
        self._is_discounting = discounting
        self.highest = -1
        """Highest sequence number that arrived; the first packet begins the history wherever it is."""
        self.highest_at = 0.0
        self.events = 0
        """Loss events so far."""
        self.lost_packets = 0
        self.initial_interval: float | None = None
        """What `first_interval` said, until the first event was remodelled or longer ago than the history reaches."""
        self._advanced = 0  # packets that arrived in order
        self._gaps: deque[_Gap] = deque()
        self._event_first = 0
        self._event_at = 0.0
        # Ended intervals, the most recent first, and what discounting has left of each one's weight.
        self._intervals: deque[float] = deque(maxlen=len(self._weights))
        self._discounts: deque[float] = deque(maxlen=len(self._weights))
        self._older_mean = 0.0  # average of the ended intervals: l_avg(k - 1)
        self._older_total = 0.0  # weighted sum of those that count beside the open one
        self._older_weight = 0.0
        self._log: deque[_Gap] | None = deque(maxlen=LOG_RANGES)
        self._log_is_cut = False

    # --- packets

    def arrived(self, seq: int, now: float, rtt: float) -> bool:
        """Note a packet's arrival; False when it is a duplicate, or was given up as lost.

        `rtt` is what losses are aggregated with. `events` grows when the packet lets a loss event be seen.
        """
        highest = self.highest
        if seq == highest + 1 and highest >= 0:
            self.highest = seq
            self.highest_at = now
            self._advanced += 1
            if self._gaps:
                self._settle(rtt)
            return True
        if highest < 0:
            self.highest = seq
            self.highest_at = now
            return True
        if seq <= highest:
            return self._late(seq)
        self._advanced += 1
        self._gaps.append(_Gap(highest + 1, seq - 1, self._advanced, highest, self.highest_at, seq, now))
        self.highest = seq
        self.highest_at = now
        self._settle(rtt)
        return True

    def arrived_run(self, seq: int, count: int, first_at: float, now: float, rtt: float) -> None:
        """Note packets from `seq` on, the first at `first_at` and the last at `now`, all beyond what has arrived."""
        self.arrived(seq, first_at, rtt)
        self.highest += count - 1
        self.highest_at = now
        self._advanced += count - 1
        if self._gaps:
            self._settle(rtt)

    def marked(self, seq: int, now: float, rtt: float) -> None:
        """A packet that has arrived was marked by a queue on its way: as good as a loss (RFC 4654, 2.3; RFC 5348)."""
        if self.events and seq <= self._event_first:
            return  # overtaken: of an event that is known
        gap = _Gap(seq, seq, self._advanced, seq - 1, now, seq + 1, now)
        self._note(gap)
        self._lose(gap, rtt)

    def _late(self, seq: int) -> bool:
        """A packet that was overtaken: it fills a gap that is not given up yet."""
        for index, gap in enumerate(self._gaps):
            if gap.first <= seq <= gap.last:
                if len(self._gaps) >= MOST_GAPS and gap.first < seq < gap.last:
                    return False
                parts = [gap._replace(last=seq - 1)] if seq > gap.first else []
                parts += [gap._replace(first=seq + 1)] if seq < gap.last else []
                del self._gaps[index]
                for part in reversed(parts):
                    self._gaps.insert(index, part)
                return True
        return False

    def _settle(self, rtt: float) -> None:
        """Give up what enough later packets have overtaken."""
        gaps = self._gaps
        enough = self._advanced - (REORDERED_PACKETS - 1)
        while gaps and gaps[0].noticed <= enough:
            gap = gaps.popleft()
            self.lost_packets += gap.last - gap.first + 1
            self._note(gap)
            self._lose(gap, rtt)

    def _note(self, gap: _Gap) -> None:
        """Until the first RTT measurement."""
        if self._log is not None:
            self._log_is_cut |= len(self._log) == LOG_RANGES
            self._log.append(gap)

    def _lose(self, gap: _Gap, rtt: float) -> None:
        """Aggregate the losses of a range into events."""
        seq = gap.first
        if self.events == 0:
            self.initial_interval = max(1.0, self._first_interval())
            self._begin(seq, gap.time_of(seq), self.initial_interval)
        spacing = (gap.after_at - gap.before_at) / (gap.after - gap.before)
        if gap.time_of(gap.last) <= self._event_at + rtt:
            return
        if spacing <= 0:
            self._begin(seq, gap.time_of(seq), float(seq - self._event_first))
            return
        step = int(rtt / spacing) + 1  # packets from an event's first loss to the next one's in an unbroken range
        if gap.time_of(seq) <= self._event_at + rtt:
            seq = gap.before + int((self._event_at + rtt - gap.before_at) / spacing)
            while gap.time_of(seq) <= self._event_at + rtt:
                seq += 1
        # Only as many events as the history holds are of interest.
        surplus = (gap.last - seq) // step - len(self._weights) - 1
        if surplus > 0:
            self.events += surplus
            seq += surplus * step
            self._event_first = seq - step
        while seq <= gap.last:
            self._begin(seq, gap.time_of(seq), float(seq - self._event_first))
            seq += step

    def _begin(self, seq: int, at: float, interval: float) -> None:
        """An event begins, which ends `interval`."""
        if self.events and self._is_discounting:
            discount = self._discount(interval)
            if discount < 1:
                for i, old in enumerate(self._discounts):
                    self._discounts[i] = old * discount
        if self.events and (renewed := self._renewed()) > self._older_mean:
            interval = renewed
            self._intervals.extend([renewed] * len(self._weights))
            self._discounts.extend([1.0] * len(self._weights))
        self.events += 1
        self._intervals.appendleft(interval)
        self._discounts.appendleft(1.0)
        if self.events > len(self._weights):
            self.initial_interval = None
        self._event_first = seq
        self._event_at = at
        self._average()

    def _average(self) -> None:
        """Sums over the ended intervals, which change with events only."""
        weights = self._weights
        total = weight = older_total = older_weight = 0.0
        for i, (interval, discount) in enumerate(zip(self._intervals, self._discounts, strict=True)):
            total += weights[i] * discount * interval
            weight += weights[i] * discount
            if i + 1 < len(weights):
                older_total += weights[i + 1] * discount * interval
                older_weight += weights[i + 1] * discount
        self._older_mean = total / weight
        self._older_total = older_total
        self._older_weight = older_weight

    # --- what they amount to

    @property
    def lossless_s(self) -> float:
        """Seconds from the last event to the newest packet."""
        return max(0.0, self.highest_at - self._event_at)

    @property
    def open_interval(self) -> int:
        """Packets since the last event's first loss."""
        return max(1, self.highest - self._event_first)

    def _discount(self, interval: float) -> float:
        """RFC 5348, 5.5: how much less the older intervals weigh when the newest is more than twice their mean."""
        if interval <= 2 * self._older_mean:
            return 1.0
        return max(2 * self._older_mean / interval, LEAST_DISCOUNT)

    @property
    def loss_event_rate(self) -> float:
        """p of Eq. (1), in (0, 1]; 0 before the first loss."""
        if self.events == 0:
            return 0.0
        discount = self._discount(self.open_interval) if self._is_discounting else 1.0
        weight = self._weights[0] + discount * self._older_weight
        mean = (self._weights[0] * self.open_interval + discount * self._older_total) / weight
        return min(1.0, 1 / max(mean, self._older_mean, 1.0))

    # --- the first RTT measurement

    def remodel(self, rtt: float, factor: float) -> None:
        """Aggregate all losses anew with the first measured RTT (Appendix A); called once.

        `factor` corrects the initial interval, if it is still in the history (Appendix B).
        """
        log, self._log = self._log, None
        if not log or not self.events:
            return
        initial = self.initial_interval
        self.events = 0
        self._intervals.clear()
        self._discounts.clear()
        first = log[0]
        keeps_initial = initial is not None and not self._log_is_cut
        self.initial_interval = max(1.0, initial * factor) if initial is not None and keeps_initial else None
        # Without it the history begins with the first range that is known: its interval is the mean of what follows.
        self._begin(first.first, first.time_of(first.first), self.initial_interval or 1.0)
        for gap in log:
            self._lose(gap, rtt)
        if not keeps_initial and len(self._intervals) > 1 and self.events <= len(self._weights):
            self._intervals.pop()
            self._discounts.pop()
            self._average()
