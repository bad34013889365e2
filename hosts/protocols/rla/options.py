"""RLA's parameters. Where the paper gives a value it is the default; the rest says where it comes from."""

from dataclasses import dataclass

from hosts.parts.bounds import at_least, check, not_negative, one_of, period, seconds, share, within
from hosts.protocols.rla.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES


@dataclass(frozen=True, slots=True)
class RlaOptions:
    """One session's parameters; sender and receivers may differ in them."""

    # As a TCP's packet (ours; the paper's rows: 1,000).
    payload_bytes: int = within(DEFAULT_PAYLOAD_BYTES, 1, MAX_PAYLOAD_BYTES)
    # tcp: the window grows and is cut as TCP's of today; paper: as that of 1998 (ours).
    rules: str = one_of("tcp", "paper")
    # A receiver is troubled whose mean interval between signals is at most so many times the least one (3.3, rule 6).
    eta: float = at_least(20.0, 1, below=1e6, unit="times")
    # Of a receiver's mean interval between congestion signals: RFC 6298's alpha (ours).
    interval_gain: float = share(0.125)
    # So many receivers may ask for a packet before it is multicast; 0: always multicast (section 5).
    rexmit_thresh: int = not_negative(0, below=1e6, unit="receivers")
    # pthresh is scaled by this power of rtt / rtt_max; 0: the restricted algorithm (5.3).
    rtt_exponent: float = not_negative(2.0, below=1e6, unit="power")
    initial_cwnd: float = within(1.0, 1, 10, unit="packets")  # ns-2's TCP of the paper's time
    # Sent upon one input: ns-2's maxburst; "to prevent a suddenly widely-open window" (3.3).
    max_burst: int = at_least(4, 1, unit="packets")
    # Least distance of a timeout above the mean delay: that of the TCP of the paper's time.
    rto_margin_s: float = seconds(0.2, or_zero=True)
    # 3.1: upper end of a receiver's random processing time; the bottleneck's service time.
    processing_s: float = seconds(0.0, or_zero=True)
    # Receive buffer, and the sender's of data not yet sent (ours: of 1 Gbit/s and 130 ms).
    buffer_bytes: int = 1 << 24
    # Sent data that is kept at most for receivers that are set aside: then who is silent is dropped (ours).
    kept_bytes: int = at_least(1 << 26, 1)
    # Receiver: 3.3, footnote 8: ask for an immediate repeat of what has been missing for so long, by unicast; 0:
    # never, it waits until the sender has heard from everybody (ours: the paper gives no time).
    hurry_after_s: float = seconds(0.0, or_zero=True)
    # A receiver is dropped that signals so many times as often as the next one; 0: never (4.3).
    drop_slowest: float = not_negative(0.0, below=1e6, unit="times")
    drop_slowest_after_s: float = seconds(30.0)  # when that has lasted for so long (ours)
    sample_s: float = period(1.0)  # with `assist`: a receiver has one acknowledgment unmerged so often (ours)
    assist: str = one_of("none", "switch")  # switch: switches on the way may merge loss-free ones (ours)
    # What switches say is compared with what receivers say themselves; where packets are sealed it is (ours).
    watch_switches: bool = False
    from_start: bool = True  # receiver: whole or nothing; false: from the first packet that can be had (ours)
    # A receiver silent or stalled for so long no longer holds the others back (ours).
    drop_after_s: float = seconds(30.0)
    # A receiver that keeps the session below this rate for long is sent away (parts/least_rate.py); 0: the slowest one
    # is waited for (ours).
    least_rate_bps: float = not_negative(0.0)
    least_rate_s: float = seconds(10.0)  # as much as comes in so long may lack (ours)
    silence_s: float = seconds(30.0)  # a receiver gives a silent sender up after this (ours)
    heartbeat_s: float = period(1.0)  # a receiver that hears nothing says so often what it has and takes (ours)
    announce_s: float = period(0.25)  # between announcements, and between repeated joins (ours)
    max_receivers: int = at_least(1024, 1, unit="receivers")  # that the sender takes; others are refused (ours)

    def __post_init__(self) -> None:
        check(self)
        if self.buffer_bytes < 4 * self.payload_bytes:
            raise ValueError("parameter 'buffer_bytes' must hold at least 4 packets")
