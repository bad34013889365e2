"""TFMCC's parameters. Defaults are the paper's; `rules` chooses where RFC 4654 and we differ (docs/tfmcc.md)."""

from dataclasses import dataclass

from hosts.parts.bounds import at_least, check, not_negative, one_of, period, positive, seconds, share, within
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES
from hosts.protocols.tfmcc.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES
from hosts.protocols.tfmcc.rate_float import decode_rtt, encode_rtt


@dataclass(frozen=True, slots=True)
class TfmccOptions:
    """One session's parameters; sender and receivers have the same."""

    # paper: T is 4 maximum RTTs with timers biased by an offset; only a departed CLR's successor is approached by one
    # packet per RTT; a receiver without an RTT counts with the initial one for the maximum. rfc: 6 maximum RTTs, no
    # offset; every increase is limited so; such a receiver counts with the RTT that the sender measures (RFC 4654).
    # today: the paper's timers with what holds in networks that nobody tuned (ours).
    rules: str = one_of("today", "paper", "rfc")
    # Of a packet; at least what the smallest piece of a file takes (ours).
    payload_bytes: int = within(DEFAULT_PAYLOAD_BYTES, LEAST_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES)
    loss_intervals: int = within(8, 2, 128, unit="intervals")  # of the weighted mean (2.3: 8 to 32)
    history_discounting: bool = False  # TFRC's (RFC 5348, 5.5), which RFC 4654 takes over and the paper does not name
    initial_rtt_s: float = period(0.5)  # until one is measured (2.4.1); used as the next RTT float above
    # Worst error (2.4.1) of sender's and receiver's clocks together, when `now` is synchronised (NTP); negative: it is
    # not, and the initial RTT is initial_rtt_s.
    clock_error_s: float = -1.0
    beta_clr: float = share(0.05)  # a new sample's, of the CLR's mean RTT (2.4.2)
    beta_other: float = share(0.5)  # a new sample's, of another receiver's mean RTT (2.4.2)
    beta_one_way: float = share(0.05)  # a one-way sample's: "a smaller decay factor" (2.4.3; ours: the CLR's)
    receivers_bound: int = at_least(10_000, 2, unit="receivers")  # N: at most so many may be there (2.5.1)
    gamma: float = share(0.25, or_zero=True)  # of T: the timers' offset (2.5.4)
    # Who would have less by this part of what was reported still reports (2.5.2).
    theta: float = share(0.1, or_zero=True)
    # Of switches that suppress, and of receivers behind them: a report that is lower at all passes. It is rare enough
    # there, and shares of shares would add up where one switch is above another (ours).
    switch_theta: float = share(0.0, or_zero=True)
    low_rate_packets: int = not_negative(2)  # c: so many in a row may be lost at low rates (2.5.3: 2 to 4)
    slowstart_factor: float = positive(2.0, below=1e6, unit="times")  # d: what slowstart sends of what arrives (2.6)
    # Feedback delays of silence after which the CLR is gone; 0: 10 (4.2), by today's rules 3 of the rate before (ours).
    clr_timeout_delays: float = not_negative(0.0, unit="delays")
    # Appendix C: the previous CLR is remembered so long ("a few RTTs"); 0: not.
    previous_clr_rtts: float = not_negative(0.0, unit="RTTs")
    max_rtt_decay: float = share(0.9)  # what a round leaves of it (RFC 4654, 3.2)
    largest_rtt_s: float = period(4.0)  # reports that say more are not believed (ours)
    # Receivers that cannot take this rate are sent away (section 1: "application-specific thresholds below which a
    # receiver is compelled to leave"); 0: the slowest one is waited for.
    least_rate_bps: float = not_negative(0.0)
    # Between two packets, however low the rate (ours; TFRC's is 64 s, RFC 5348, 4.3).
    longest_gap_s: float = period(8.0)
    rate_limit_bps: float = not_negative(0.0)  # of IP packets; 0: none (ours)
    send_buffer_s: float = seconds(0.2)  # data of the application that waits, in time at the current rate (ours)
    # Of a file: a receiver silent or stalled for so long no longer holds the others back (ours).
    drop_after_s: float = seconds(30.0)
    silence_s: float = seconds(30.0)  # a receiver gives a silent sender up after this (ours)
    assist: str = one_of("none", "switch")  # switch: switches on the way may suppress reports (ours)
    # With `assist`: a receiver says a report twice so often, so that a switch that drops too much is found
    # (parts/twins.py). 0: never; where packets are sealed, once a second (ours).
    sample_s: float = seconds(0.0, or_zero=True)

    def __post_init__(self) -> None:
        check(self)
        if self.initial_rtt_s > self.largest_rtt_s:
            raise ValueError("parameter 'initial_rtt_s' must not exceed 'largest_rtt_s'")

    @property
    def feedback_rtts(self) -> float:
        """b: T in maximum RTTs (2.5.1; RFC 4654: 6 for unicast feedback)."""
        return 6.0 if self.rules == "rfc" else 4.0

    @property
    def clr_delays(self) -> float:
        """Feedback delays of silence after which the CLR is gone."""
        return self.clr_timeout_delays or (3.0 if self.rules == "today" else 10.0)

    @property
    def offset_share(self) -> float:
        """gamma of Eq. (3); without offset bias 0."""
        return 0.0 if self.rules == "rfc" else self.gamma

    @property
    def initial_rtt(self) -> float:
        """initial_rtt_s as a report can carry it, seconds."""
        return decode_rtt(encode_rtt(self.initial_rtt_s))

    def feedback_delay(self, max_rtt: float, packet_bytes: int, rate: float, *, slowstart: bool = False) -> float:
        """T in seconds, longer at low rates (2.5.3). `rate` in bytes per second.

        By today's rules c, the packets in a row that may be lost, is 0 in slowstart, which the first loss ends."""
        lost = 0 if slowstart and self.rules == "today" else self.low_rate_packets
        return self.feedback_rtts * max(max_rtt, (lost + 1) * packet_bytes / rate)
