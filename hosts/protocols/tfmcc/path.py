"""What a receiver measures of its path: losses, round trip time, what arrives, and the rate they allow (2.1 to 2.4)."""

from typing import Final

from hosts.parts.throughput import (
    RENEWED,
    loss_event_rate,
    mixed_loss_event_rate,
    mixed_throughput,
    throughput,
    window_since_loss,
)
from hosts.protocols.tfmcc.loss_history import LossHistory, interval_weights
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import PATH_UNIT_US, Data, packet_bytes
from hosts.protocols.tfmcc.rate_float import decode_rate, decode_rtt, encode_rtt
from hosts.protocols.tfmcc.receive_rate import ReceiveRate
from hosts.protocols.tfmcc.room import Room
from hosts.protocols.tfmcc.rtt import RoundTrip

MICRO: Final = 1e-6


class Path:
    """From the sender to one receiver. Rates in bit/s, times in seconds."""

    __slots__ = (
        "_largest_payload",
        "_ours",
        "_room",
        "_window",
        "history",
        "last",
        "last_at",
        "packet_bytes",
        "receive_rate",
        "round_trip",
    )

    def __init__(self, options: TfmccOptions) -> None:
        self.round_trip = RoundTrip(options)
        self._ours = options.rules == "today"
        self._window = 0.0  # packets a round trip time at the last loss event
        self._room = Room()
        self.history = LossHistory(
            interval_weights(options.loss_intervals),
            self._first_interval,
            discounting=options.history_discounting,
            renewed=self._renewed_interval,
        )
        self.receive_rate = ReceiveRate()
        self.packet_bytes = packet_bytes(options.payload_bytes)
        """Eq. (1)'s s: a full packet of this session."""
        self.last: Data | None = None
        """The newest packet that arrived, by its sequence number."""
        self.last_at = 0.0
        self._largest_payload = 0

    def note(self, packet: Data, at: float) -> None:
        """The newest packet came at `at`."""
        if self.last is None:
            if packet.path_rtt:
                self.round_trip.expect(packet.path_rtt * PATH_UNIT_US * MICRO)
            self.round_trip.synchronise(at, packet.send_time_us * MICRO)
        self.last = packet
        self.last_at = at
        size = len(packet.payload)
        if size > self._largest_payload:
            self._largest_payload = size
            self.packet_bytes = packet_bytes(size)
        if self._ours and self.round_trip.has_measurement:
            sent_at = packet.send_time_us * MICRO
            packet_s = 8 * self.packet_bytes / max(1.0, decode_rate(packet.rate))
            self._room.passed(at, self.round_trip.steady_delay(at, sent_at), self.round_trip.rtt, packet_s)

    def echoed(self, packet: Data, at: float, *, is_clr: bool) -> bool | None:
        """A packet brings our report's time back: a round trip time.

        Whether it is the first one; None when it is none, for we never said that.
        """
        instant = at - packet.echo_time_us * MICRO - packet.echo_held_us * MICRO
        return self.answered(instant, at, packet.send_time_us * MICRO, is_clr=is_clr)

    def answered(self, instant: float, at: float, sent_at: float, *, is_clr: bool = False) -> bool | None:
        """A round trip of so long ended at `at` with what left at `sent_at` on the sender's clock; as `echoed`."""
        if instant <= 0:
            return None
        trip = self.round_trip
        first = not trip.has_measurement
        initial = self.rate_rtt
        trip.measure(instant, at, sent_at, is_clr=is_clr)
        if first:
            self.history.remodel(trip.rtt, (trip.rtt / initial) ** 2)
        return first

    def is_far(self, packet: Data) -> bool:
        """Whether our RTT is above what the sender takes for the largest."""
        return self.round_trip.has_measurement and encode_rtt(self.round_trip.rtt) > packet.max_rtt

    @property
    def rate_rtt(self) -> float:
        """What the rate is computed with; without a measurement a value that a report carries exactly."""
        trip = self.round_trip
        return trip.rtt if trip.has_measurement else decode_rtt(encode_rtt(trip.rtt))

    @property
    def calculated_bps(self) -> float:
        """Eq. (1); infinite without a loss.

        By today's rules what a Reno and a CUBIC would have on average, there and that long after a loss: a history
        in packets, of a time when few were sent, would hold the rate down for minutes."""
        p = self.history.loss_event_rate
        if p == 0:
            return float("inf")
        if not self._ours:
            return throughput(p, self.rate_rtt, self.packet_bytes) * 8
        return max(mixed_throughput(p, self.rate_rtt, self.packet_bytes) * 8, self._since_loss_bps)

    @property
    def _since_loss_bps(self) -> float:
        rtt = self.rate_rtt
        window = max(window_since_loss(self.history.lossless_s, rtt, self._window), self._room.window(rtt))
        return window * self.packet_bytes * 8 / rtt

    def _renewed_interval(self) -> float:
        """At a loss event: the interval that TCP would have at its mean rate from there on, if the rate came from the
        time since the last event and not from the history; else 0."""
        if not self._ours or self.last is None:
            return 0.0
        p = self.history.loss_event_rate
        grown = self._since_loss_bps > mixed_throughput(p, self.rate_rtt, self.packet_bytes) * 8
        self._note_window()
        return self._interval_at(RENEWED) if grown else 0.0

    def _note_window(self) -> None:
        """A loss event: so much is in flight."""
        self._window = self._rate_bps(1.0) * self.rate_rtt / (8 * self.packet_bytes)
        self._room.lost(self.last_at, self._window, self.rate_rtt)

    def receive_bps(self, now: float) -> float:
        """The rate that arrives, as far as it is known; 0 before."""
        return 0.0 if self.last is None else self.receive_rate.at(now, decode_rtt(self.last.max_rtt)) * 8

    def _first_interval(self) -> float:
        """Appendix B: the interval that TCP would have at half the sending rate, or (4.5) at the rate that arrives."""
        packet = self.last
        if packet is None:
            return 1.0
        self._note_window()
        return self._interval_at(0.5)

    def _interval_at(self, share: float) -> float:
        """TCP's loss interval, packets, at a share of the sending rate, or at the rate that arrives, if it is less."""
        inverse = mixed_loss_event_rate if self._ours else loss_event_rate
        return 1 / inverse(self._rate_bps(share) / 8, self.rate_rtt, self.packet_bytes)

    def _rate_bps(self, share: float) -> float:
        """A share of the sending rate, or the rate that arrives, if it is less."""
        assert self.last is not None
        sent = decode_rate(self.last.rate) * share
        receive = self.receive_bps(self.history.highest_at)
        return min(sent, receive) if receive > 0 else sent
