"""A receiver's round trip time to the sender: initial value, measurements, and adjustments between them (2.4)."""

from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import RTT_UNIT_S


class RoundTrip:
    """Seconds, never below what a report can carry; times on the receiver's clock unless said otherwise."""

    __slots__ = ("_back", "_measured", "_options", "has_measurement", "rtt")

    def __init__(self, options: TfmccOptions) -> None:
        self._options = options
        self.rtt = options.initial_rtt
        """What rates are computed and losses aggregated with."""
        self.has_measurement = False
        self._measured = 0.0  # smoothed real measurements, without what was inferred since
        self._back: float | None = None  # delay from receiver to sender, clock skew included

    def synchronise(self, arrived_at: float, sent_at: float) -> None:
        """2.4.1: with synchronised clocks the first packet tells: twice the one-way delay and its error."""
        error = self._options.clock_error_s
        delay = arrived_at - sent_at + error
        # A packet that came before it was sent, or was long on its way: the clocks are not what we were told.
        if error >= 0 and not self.has_measurement and 0 < 2 * delay <= self._options.largest_rtt_s:
            self.rtt = max(2 * delay, RTT_UNIT_S)

    def measure(self, instant: float, arrived_at: float, sent_at: float, *, is_clr: bool) -> None:
        """2.4.2: an echo gave `instant`; it came with a packet that the sender sent at `sent_at` on its clock."""
        instant = min(max(instant, RTT_UNIT_S), self._options.largest_rtt_s)
        if self.has_measurement:
            beta = self._options.beta_clr if is_clr else self._options.beta_other
            self._measured += beta * (instant - self._measured)
        else:
            self._measured = instant
            self.has_measurement = True
        self.rtt = self._measured  # what was inferred since the last measurement is forgotten (2.4.3)
        self._back = instant - (arrived_at - sent_at)

    def adjust(self, arrived_at: float, sent_at: float) -> None:
        """2.4.3: the delay of a data packet shows how the RTT has changed since it was measured."""
        if self._back is not None:
            instant = self._back + (arrived_at - sent_at)
            self.rtt += self._options.beta_one_way * (max(instant, RTT_UNIT_S) - self.rtt)
