"""TFMCC's parameters. Defaults are the paper's; `rules` chooses where RFC 4654 differs."""

from dataclasses import dataclass

from hosts.parts.bounds import LEAST_PERIOD_S, check_times
from hosts.protocols.tfmcc.blocks import LEAST_PAYLOAD_BYTES
from hosts.protocols.tfmcc.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES
from hosts.protocols.tfmcc.rate_float import decode_rtt, encode_rtt


@dataclass(frozen=True, slots=True)
class TfmccOptions:
    """One session's parameters; sender and receivers have the same."""

    # paper: T is 4 maximum RTTs with timers biased by an offset; only a departed CLR's successor is approached by one
    # packet per RTT; a receiver without an RTT counts with the initial one for the maximum. rfc: 6 maximum RTTs, no
    # offset; every increase is limited so; such a receiver counts with the RTT that the sender measures (RFC 4654).
    rules: str = "paper"
    payload_bytes: int = DEFAULT_PAYLOAD_BYTES  # at least what the smallest piece of a file takes
    loss_intervals: int = 8  # 2.3: 8 to 32
    history_discounting: bool = False  # TFRC's (RFC 5348, 5.5), which RFC 4654 takes over and the paper does not name
    initial_rtt_s: float = 0.5  # 2.4.1; used as the next RTT float above
    # 2.4.1: worst error of sender's and receiver's clocks together, when `now` is synchronised (NTP); negative: it is
    # not, and the initial RTT is initial_rtt_s.
    clock_error_s: float = -1.0
    beta_clr: float = 0.05  # 2.4.2
    beta_other: float = 0.5  # 2.4.2
    beta_one_way: float = 0.05  # 2.4.3: "a smaller decay factor" (ours; the CLR's)
    receivers_bound: int = 10_000  # 2.5.1: N
    gamma: float = 0.25  # 2.5.4
    theta: float = 0.1  # 2.5.2
    # Of switches that suppress, and of receivers behind them: a report that is lower at all passes. It is rare enough
    # there, and shares of shares would add up where one switch is above another (ours).
    switch_theta: float = 0.0
    low_rate_packets: int = 2  # 2.5.3: c, 2 to 4
    slowstart_factor: float = 2.0  # 2.6: d
    clr_timeout_delays: float = 10.0  # 4.2: feedback delays of silence after which the CLR is gone
    previous_clr_rtts: float = 0.0  # Appendix C: the previous CLR is remembered so long ("a few RTTs"); 0: not
    max_rtt_decay: float = 0.9  # a round (RFC 4654, 3.2)
    largest_rtt_s: float = 4.0  # reports that say more are not believed (ours)
    # Receivers that cannot take this rate are sent away (1: "application-specific thresholds below which a receiver is
    # compelled to leave"); 0: the slowest one is waited for.
    least_rate_bps: float = 0.0
    longest_gap_s: float = 8.0  # between two packets, however low the rate (ours; TFRC's is 64 s, RFC 5348, 4.3)
    rate_limit_bps: float = 0.0  # of IP packets; 0: none
    send_buffer_s: float = 0.2  # data of the application that waits, in time at the current rate (ours)
    drop_after_s: float = (
        30.0  # of a file: a receiver silent or stalled for so long no longer holds the others back (ours)
    )
    silence_s: float = 30.0  # a receiver gives a silent sender up after this (ours)
    assist: str = "none"  # switch: switches on the way may suppress reports

    def __post_init__(self) -> None:
        if self.rules not in ("paper", "rfc"):
            raise ValueError("parameter 'rules' must be paper or rfc")
        if self.assist not in ("none", "switch"):
            raise ValueError("parameter 'assist' must be none or switch")
        if not LEAST_PAYLOAD_BYTES <= self.payload_bytes <= MAX_PAYLOAD_BYTES:
            raise ValueError(f"parameter 'payload_bytes' must be in {LEAST_PAYLOAD_BYTES}..{MAX_PAYLOAD_BYTES}")
        if not 2 <= self.loss_intervals <= 128:
            raise ValueError("parameter 'loss_intervals' must be in 2..128")
        for name in ("beta_clr", "beta_other", "beta_one_way", "max_rtt_decay"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"parameter '{name}' must be in (0, 1]")
        for name in ("gamma", "theta", "switch_theta"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"parameter '{name}' must be in [0, 1]")
        if self.receivers_bound < 2 or self.low_rate_packets < 0:
            raise ValueError("parameter 'receivers_bound' must be at least 2, 'low_rate_packets' not negative")
        check_times(self, ("initial_rtt_s", "largest_rtt_s", "longest_gap_s"), least=LEAST_PERIOD_S)
        check_times(self, ("send_buffer_s", "silence_s", "drop_after_s"))
        for name in ("slowstart_factor", "clr_timeout_delays"):
            if not 0 < getattr(self, name) < 1e6:
                raise ValueError(f"parameter '{name}' must be positive")
        for name in ("previous_clr_rtts", "least_rate_bps", "rate_limit_bps"):
            if not 0 <= getattr(self, name) < 1e12:
                raise ValueError(f"parameter '{name}' must not be negative")
        if self.initial_rtt_s > self.largest_rtt_s:
            raise ValueError("parameter 'initial_rtt_s' must not exceed 'largest_rtt_s'")

    @property
    def feedback_rtts(self) -> float:
        """b: T in maximum RTTs (2.5.1; RFC 4654: 6 for unicast feedback)."""
        return 4.0 if self.rules == "paper" else 6.0

    @property
    def offset_share(self) -> float:
        """gamma of Eq. (3); without offset bias 0."""
        return self.gamma if self.rules == "paper" else 0.0

    @property
    def initial_rtt(self) -> float:
        """initial_rtt_s as a report can carry it, seconds."""
        return decode_rtt(encode_rtt(self.initial_rtt_s))

    def feedback_delay(self, max_rtt: float, packet_bytes: int, rate: float) -> float:
        """T in seconds, longer at low rates (2.5.3). `rate` in bytes per second."""
        return self.feedback_rtts * max(max_rtt, (self.low_rate_packets + 1) * packet_bytes / rate)
