"""Who is a troubled receiver (RLA, 3.3, rule 6): one whose congestion signals come often enough to be listened to.

A receiver counts while the mean interval between its congestion signals is at most eta times min_congestion_interval,
the smallest such mean of all. The mean is exponentially weighted; the time since the last signal stands in for it once
it is longer, so that a receiver whose trouble is over ceases to count.
"""

ALONE = 4
"""Who has signalled so often since anybody else did is alone in trouble (ours): of n alike one is so with probability
n^-3, and means over many signals would show it late."""
LEAST_INTERVAL_S = 1e-6
"""Between signals that come at one moment: what times on the wire are told in."""


class _Record:
    __slots__ = ("interval", "last", "signals")

    def __init__(self, since: float) -> None:
        self.last = since  # of the last signal; at first, when it joined
        self.interval = 0.0  # exponentially weighted mean, seconds; meaningless without signals
        self.signals = 0


class TroubledReceivers:
    """The dynamic count num_trouble_rcvr. Times are seconds of one clock."""

    def __init__(self, eta: float, gain: float) -> None:
        self._eta = eta
        self._gain = gain
        self._records: dict[int, _Record] = {}
        self.count = 0
        """num_trouble_rcvr, as of the last signal."""
        self._latest = -1  # who signalled last, and how often since anybody else did
        self._in_a_row = 0
        self.alike = 0.0
        """As many receivers that signal equally often would be heard of as often, each by itself (ours): `count` when
        all do, about 1 when one signals much more often than all others. As of the last signal."""

    def add(self, receiver: int, now: float) -> None:
        """A receiver takes part from now on."""
        self._records[receiver] = _Record(now)

    def remove(self, receiver: int) -> None:
        """It is gone, and with it what it has signalled."""
        self._records.pop(receiver, None)

    def signal(self, receiver: int, now: float) -> bool:
        """A congestion signal from `receiver`; whether it is a troubled one. Updates `count`."""
        record = self._records[receiver]
        sample = now - record.last
        record.interval = sample if not record.signals else record.interval + self._gain * (sample - record.interval)
        record.last = now
        record.signals += 1
        limit = self.limit(now)
        intervals = (self._interval(other, now) for other in self._records.values() if other.signals)
        rates = [1 / max(interval, LEAST_INTERVAL_S) for interval in intervals if interval <= limit]
        self.count = len(rates)
        self._in_a_row = self._in_a_row + 1 if receiver == self._latest else 1
        self._latest = receiver
        is_alone = self._in_a_row >= ALONE
        self.alike = 1.0 if is_alone else sum(rates) ** 2 / sum(rate * rate for rate in rates)
        return self._interval(record, now) <= limit

    def is_one(self, receiver: int, now: float) -> bool:
        """Whether it is a troubled receiver."""
        return self.interval(receiver, now) <= self.limit(now) < float("inf")

    def limit(self, now: float) -> float:
        """The longest mean interval that a troubled receiver has, seconds; infinite before the first signal."""
        return self._eta * self.min_congestion_interval(now)

    def interval(self, receiver: int, now: float) -> float:
        """Mean interval between a receiver's congestion signals, seconds; infinite before the first."""
        record = self._records[receiver]
        return self._interval(record, now) if record.signals else float("inf")

    def min_congestion_interval(self, now: float) -> float:
        """The smallest mean interval of all receivers, seconds; infinite before the first signal."""
        return min(
            (self._interval(record, now) for record in self._records.values() if record.signals), default=float("inf")
        )

    @staticmethod
    def _interval(record: _Record, now: float) -> float:
        return max(record.interval, now - record.last)
