"""VLMCC's parameters. What the paper does not give is marked ours, and one setting serves all rows."""

from dataclasses import dataclass

from hosts.parts.bounds import at_least, check, not_negative, one_of, period, positive, seconds, share, within
from hosts.parts.vegas import VegasOptions
from hosts.protocols.vlmcc.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, packet_bytes


@dataclass(frozen=True, slots=True)
class VlmccOptions:
    """One session's parameters; sender and receivers have the same."""

    # paper: the paper's rules to the letter. adaptive (ours): what they lack beside TCP and when paths change
    # (docs/vlmcc.md).
    rules: str = one_of("adaptive", "paper")
    # Of a packet, as in the other protocols (ours).
    payload_bytes: int = within(DEFAULT_PAYLOAD_BYTES, 1, MAX_PAYLOAD_BYTES)
    alpha: float = positive(2.0, unit="packets")  # so many wait in queues, at least (2.2; ours, as MTCP's)
    beta: float = positive(4.0, unit="packets")  # and so many at most (2.2; ours, as MTCP's)
    gamma: float = positive(2.0, unit="packets")  # as many end slow start, which the paper does not mention (Vegas')
    # A follower's rate may fall so far behind before it challenges (2.3, Eq. (6); the value is ours).
    n_extra: float = not_negative(2.0, below=1e6, unit="packets")
    rtt_gain: float = share(0.1)  # g: a new sample's, of the mean round trip time (2.2)
    deviation_gain: float = share(0.1)  # a new sample's, of its mean deviation (2.2: g)
    # A new one's, of the followers' mean of Eq. (6)'s difference (2.3 gives none; ours: g).
    difference_gain: float = share(0.1)
    # Four deviations count for at least this: a constant rtt has none (ours).
    loss_margin_s: float = seconds(0.01, or_zero=True)
    # Challenges are ignored so long after a change ("the last RTTs", 2.3; ours).
    settling_rtts: float = not_negative(4.0, below=1e6, unit="RTTs")
    # Of many followers that want to lead at once so many say so within one rtt; the others wait, and look again (ours;
    # 0: nobody waits).
    challenges_per_rtt: float = not_negative(6.0, below=1e6, unit="per RTT")
    # Receivers that hear a session begin ask for its state within this (ours).
    start_spread_s: float = seconds(0.2, or_zero=True)
    # Receivers ask again so often, against clocks that drift (ours); sooner in the beginning.
    start_interval_s: float = period(60.0)
    initial_rtt_s: float = period(0.5)  # before there is a leader, one packet per this (ours; RFC 4654's)
    largest_rtt_s: float = period(4.0)  # what a challenge or acknowledgment claims beyond it counts as this (ours)
    max_window: int = within(65_536, 2, (1 << 20) - 1, unit="packets")  # in flight at most (ours)
    # Receivers that cannot take this rate leave (2.3: "the minimum required rate"); 0: the slowest one is waited for.
    least_rate_bps: float = not_negative(0.0)
    least_rate_rounds: int = at_least(10, 1, unit="RTTs")  # so many in a row below it are too many (ours)
    rate_limit_bps: float = not_negative(0.0)  # of IP packets; 0: none (ours)
    send_buffer_s: float = seconds(0.2)  # data of the application that waits, in time at the current rate (ours)
    silence_s: float = seconds(30.0)  # a receiver gives a silent sender up after this (ours)
    assist: str = one_of("none", "switch")  # switch: switches on the way may suppress challenges (ours)
    # With `assist`: a receiver says a challenge twice so often, so that a switch that drops too much is found
    # (parts/twins.py). 0: never; where packets are sealed, once a second (ours).
    sample_s: float = seconds(0.0, or_zero=True)

    def __post_init__(self) -> None:
        check(self)
        if not 0 < self.alpha <= self.beta < 1e6 or not 0 < self.gamma < 1e6:
            raise ValueError("parameters must satisfy 0 < alpha <= beta, 0 < gamma")
        if 0 < self.challenges_per_rtt <= 1:
            raise ValueError("parameter 'challenges_per_rtt' must be 0 or more than 1")
        if self.initial_rtt_s > self.largest_rtt_s:
            raise ValueError("parameter 'initial_rtt_s' must not exceed 'largest_rtt_s'")

    @property
    def adaptive(self) -> bool:
        """Whether `rules` are the default's."""
        return self.rules == "adaptive"

    @property
    def packet_bytes(self) -> int:
        """Of a full IP packet."""
        return packet_bytes(self.payload_bytes)

    @property
    def vegas(self) -> VegasOptions:
        """The window's thresholds."""
        return VegasOptions(self.alpha, self.beta, self.gamma)
