"""Arbor's parameters."""

from dataclasses import dataclass

from hosts.parts.bounds import at_least, check, not_negative, one_of, period, seconds, within
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES
from hosts.protocols.arbor.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, packet_bytes


@dataclass(frozen=True, slots=True)
class ArborOptions:
    """One session's parameters; sender and receivers have the same."""

    # Of a packet, as in the other protocols; at least what the smallest piece of a file takes (ours).
    payload_bytes: int = within(DEFAULT_PAYLOAD_BYTES, LEAST_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES)
    first_window: int = within(10, 1, 1000, unit="packets")  # RFC 6928
    max_window: int = within(65_536, 2, (1 << 20) - 1, unit="packets")  # in flight at most (ours)
    reports_per_rtt: int = within(8, 1, 64, unit="per RTT")  # of the receiver that limits the rate (ours)
    # Of many receivers that want less so many say so within one rtt; the others wait, and look again (ours;
    # 0: nobody waits).
    challenges_per_rtt: float = not_negative(6.0, below=1e6, unit="per RTT")
    join_spread_s: float = seconds(0.2, or_zero=True)  # receivers that hear a session begin join within this (ours)
    # Receivers join again so often, against clocks that drift; sooner in the beginning (ours).
    join_interval_s: float = period(60.0)
    largest_rtt_s: float = period(4.0)  # what a report claims beyond it counts as this (ours)
    rate_limit_bps: float = not_negative(0.0)  # of IP packets; 0: none (ours)
    send_buffer_s: float = seconds(0.2)  # data of the application that waits, in time at the current rate (ours)
    # Of a file: a receiver silent or stalled for so long (and for four of its words) no longer holds the others back
    # (ours).
    drop_after_s: float = seconds(30.0)
    # A receiver that keeps the session below this rate for long is sent away (parts/least_rate.py); 0: the slowest one
    # is waited for (ours).
    least_rate_bps: float = not_negative(0.0)
    least_rate_s: float = seconds(10.0)  # as much as comes in so long may lack (ours)
    # Of real-time data: what is lost is repaired, if that takes no longer (ours; 0: it is not).
    deadline_s: float = seconds(0.0, or_zero=True)
    rungs: int = within(1, 1, 32, unit="rates")  # of real-time data, with a group each (ladder.py; ours)
    least_rung_bps: float = at_least(300e3, 1e3, below=1e12)  # rung 1 begins with this times `rung_step` (ours)
    rung_step: float = at_least(4 / 3, 1.1, below=10.0, unit="times")  # of one rung's bound to the next one's (ours)
    # switch: switches on the way may suppress what others have said, and tell of their queues (ours).
    assist: str = one_of("none", "switch")
    # With `assist`: a receiver says a request twice so often, so that a switch that drops too much is found
    # (parts/twins.py). 0: never; where packets are sealed, once a second (ours).
    sample_s: float = seconds(0.0, or_zero=True)
    silence_s: float = seconds(30.0)  # a receiver gives a silent sender up after this (ours)

    def __post_init__(self) -> None:
        check(self)
        if 0 < self.challenges_per_rtt <= 1:
            raise ValueError("parameter 'challenges_per_rtt' must be 0 or more than 1")

    @property
    def packet_bytes(self) -> int:
        """Of a full IP packet."""
        return packet_bytes(self.payload_bytes, self.assist == "switch")
