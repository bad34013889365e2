"""A receiver's round trip time to the sender: initial value, measurements, and adjustments between them (2.4)."""

from typing import Final

from hosts.parts.skew import ClockSkew
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import RTT_UNIT_S

LEAST_RTT_S: Final = 50e-6
"""What is measured is never taken for less; between two hosts of a data centre it is as little (ours)."""
DELAY_S: Final = 2.0
"""The least one-way delay of so long shows how the clocks drift apart (ours)."""


class RoundTrip:
    """Seconds; times on the receiver's clock unless said otherwise."""

    __slots__ = (
        "_back",
        "_drift",
        "_floor",
        "_gained",
        "_least",
        "_measured",
        "_options",
        "_skew",
        "_until",
        "has_measurement",
        "rtt",
    )

    def __init__(self, options: TfmccOptions) -> None:
        self._options = options
        self.rtt = options.initial_rtt
        """What rates are computed and losses aggregated with."""
        self.has_measurement = False
        self._measured = 0.0  # smoothed real measurements, without what was inferred since
        self._back: float | None = None  # delay from receiver to sender, clock skew included
        ours = options.rules == "today"
        # By the other rules never less than what a report can carry.
        self._floor = LEAST_RTT_S if ours else RTT_UNIT_S
        self._skew = ClockSkew() if ours else None
        self._until: float | None = None  # the end of the time whose least delay is sought
        self._least = 0.0
        self._gained = 0.0  # by our clock on the sender's when `_back` was measured
        self._drift = 0.0  # and since

    def expect(self, rtt: float) -> None:
        """The first packet says how far the last switch is from the sender: all but the link to us, most often."""
        self.rtt = min(max(rtt, self._floor), self._options.largest_rtt_s)

    def synchronise(self, arrived_at: float, sent_at: float) -> None:
        """2.4.1: with synchronised clocks the first packet tells: twice the one-way delay and its error."""
        error = self._options.clock_error_s
        delay = arrived_at - sent_at + error
        # A packet that came before it was sent, or was long on its way: the clocks are not what we were told.
        if error >= 0 and not self.has_measurement and 0 < 2 * delay <= self._options.largest_rtt_s:
            self.rtt = max(2 * delay, self._floor)

    def measure(self, instant: float, arrived_at: float, sent_at: float, *, is_clr: bool) -> None:
        """2.4.2: an echo gave `instant`; it came with a packet that the sender sent at `sent_at` on its clock."""
        instant = min(max(instant, self._floor), self._options.largest_rtt_s)
        if self.has_measurement:
            beta = self._options.beta_clr if is_clr else self._options.beta_other
            self._measured += beta * (instant - self._measured)
        else:
            self._measured = instant
            self.has_measurement = True
        self.rtt = self._measured  # what was inferred since the last measurement is forgotten (2.4.3)
        self._back = instant - (arrived_at - sent_at)
        if self._skew is not None:
            self._watch(arrived_at, arrived_at - sent_at)
            self._gained = self._skew.gained(arrived_at)
            self._drift = 0.0

    def adjust(self, arrived_at: float, sent_at: float) -> None:
        """2.4.3: the delay of a data packet shows how the RTT has changed since it was measured, when what the clocks
        have drifted apart is taken off it: 100 ppm are 60 ms in ten minutes."""
        if self._back is not None:
            delay = arrived_at - sent_at
            if self._skew is not None:
                self._watch(arrived_at, delay)
            instant = self._back + delay - self._drift
            self.rtt += self._options.beta_one_way * (max(instant, self._floor) - self.rtt)

    def steady_delay(self, arrived_at: float, sent_at: float) -> float:
        """A data packet's delay up to a constant, without what the clocks have drifted apart."""
        delay = arrived_at - sent_at
        return delay if self._skew is None else delay - self._skew.gained(arrived_at)

    def _watch(self, arrived_at: float, delay: float) -> None:
        """A delay from the sender to us, both clocks in it."""
        skew = self._skew
        if self._until is None:
            self._until = arrived_at + DELAY_S
            self._least = delay
        elif delay < self._least:
            self._least = delay
        if arrived_at >= self._until and skew is not None:
            skew.add(arrived_at, self._least)
            self._drift = skew.gained(arrived_at) - self._gained
            self._until = arrived_at + DELAY_S
            self._least = delay
