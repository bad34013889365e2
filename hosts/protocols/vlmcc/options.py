"""VLMCC's parameters. What the paper does not give is marked ours, and one setting serves all rows."""

from dataclasses import dataclass

from hosts.parts.bounds import LEAST_PERIOD_S, check_times
from hosts.parts.vegas import VegasOptions
from hosts.protocols.vlmcc.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, packet_bytes


@dataclass(frozen=True, slots=True)
class VlmccOptions:
    """One session's parameters; sender and receivers have the same."""

    payload_bytes: int = DEFAULT_PAYLOAD_BYTES
    alpha: float = 2.0  # packets (2.2; the values are ours, as MTCP's)
    beta: float = 4.0
    gamma: float = 2.0  # packets; ends slow start, which the paper does not mention (Vegas')
    n_extra: float = 2.0  # packets (2.3, Eq. (6)): a follower's rate may fall so far behind before it challenges (ours)
    rtt_gain: float = 0.1  # 2.2: g
    deviation_gain: float = 0.1  # 2.2: g of the deviation
    difference_gain: float = 0.1  # of the followers' average of Eq. (6)'s difference (2.3 gives none; ours: g)
    loss_margin_s: float = 0.01  # four deviations count for at least this: a constant rtt has none (ours)
    settling_rtts: float = 4.0  # challenges are ignored so long after a change ("the last RTTs", 2.3; ours)
    # Of many followers that want to lead at once so many say so within one rtt; the others wait, and look again (ours;
    # 0: nobody waits).
    challenges_per_rtt: float = 6.0
    start_spread_s: float = 0.2  # receivers that hear a session begin ask for its state within this (ours)
    start_interval_s: float = 60.0  # and again so often, against clocks that drift (ours); sooner in the beginning
    initial_rtt_s: float = 0.5  # before there is a leader, one packet per this (ours; RFC 4654's)
    largest_rtt_s: float = 4.0  # what a challenge or acknowledgment claims beyond it counts as this (ours)
    max_window: int = 10_000  # packets (ours)
    # Receivers that cannot take this rate leave (2.3: "the minimum required rate"); 0: the slowest one is waited for.
    least_rate_bps: float = 0.0
    least_rate_rounds: int = 10  # so many rtts in a row below it are too many (ours)
    rate_limit_bps: float = 0.0  # of IP packets; 0: none
    send_buffer_s: float = 0.2  # data of the application that waits, in time at the current rate (ours)
    silence_s: float = 30.0  # a receiver gives a silent sender up after this (ours)
    assist: str = "none"  # switch: switches on the way may suppress challenges

    def __post_init__(self) -> None:
        if self.assist not in ("none", "switch"):
            raise ValueError("parameter 'assist' must be none or switch")
        if not 0 < self.payload_bytes <= MAX_PAYLOAD_BYTES:
            raise ValueError(f"parameter 'payload_bytes' must be in 1..{MAX_PAYLOAD_BYTES}")
        if not 0 < self.alpha <= self.beta < 1e6 or not 0 < self.gamma < 1e6:
            raise ValueError("parameters must satisfy 0 < alpha <= beta, 0 < gamma")
        for name in ("rtt_gain", "deviation_gain", "difference_gain"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"parameter '{name}' must be in (0, 1]")
        check_times(self, ("start_interval_s", "initial_rtt_s", "largest_rtt_s"), least=LEAST_PERIOD_S)
        check_times(self, ("send_buffer_s", "silence_s"))
        check_times(self, ("loss_margin_s", "start_spread_s"), or_zero=True)
        for name in ("n_extra", "settling_rtts", "challenges_per_rtt"):
            if not 0 <= getattr(self, name) < 1e6:
                raise ValueError(f"parameter '{name}' must not be negative")
        for name in ("least_rate_bps", "rate_limit_bps"):
            if not 0 <= getattr(self, name) < 1e12:
                raise ValueError(f"parameter '{name}' must not be negative")
        if not 2 <= self.max_window < 1 << 20:
            raise ValueError("parameter 'max_window' must be in 2..1048575")
        if 0 < self.challenges_per_rtt <= 1:
            raise ValueError("parameter 'challenges_per_rtt' must be 0 or more than 1")
        if self.least_rate_rounds < 1:
            raise ValueError("parameter 'least_rate_rounds' must be at least 1")
        if self.initial_rtt_s > self.largest_rtt_s:
            raise ValueError("parameter 'initial_rtt_s' must not exceed 'largest_rtt_s'")

    @property
    def packet_bytes(self) -> int:
        """Of a full IP packet."""
        return packet_bytes(self.payload_bytes)

    @property
    def vegas(self) -> VegasOptions:
        """The window's thresholds."""
        return VegasOptions(self.alpha, self.beta, self.gamma)
