"""RLA's parameters. Where the paper gives a value it is the default; the rest says where it comes from."""

from dataclasses import dataclass

from hosts.parts.bounds import LEAST_PERIOD_S, check_times
from hosts.protocols.rla.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES


@dataclass(frozen=True, slots=True)
class RlaOptions:
    """One session's parameters; sender and receivers may differ in them."""

    payload_bytes: int = DEFAULT_PAYLOAD_BYTES
    eta: float = 20.0  # 3.3, rule 6
    interval_gain: float = 0.125  # of a receiver's mean interval between congestion signals: RFC 6298's alpha (ours)
    rexmit_thresh: int = 0  # 5: so many receivers may ask for a packet before it is multicast; 0: always multicast
    rtt_exponent: float = 2.0  # 5.3: pthresh is scaled by (rtt / rtt_max)^2; 0: the restricted algorithm
    initial_cwnd: float = 1.0  # packets: ns-2's TCP of the paper's time
    max_burst: int = 4  # packets sent upon one input: ns-2's maxburst; "to prevent a suddenly widely-open window" (3.3)
    rto_margin_s: float = 0.2  # least distance of a timeout above the mean delay: the papers' TCP
    processing_s: float = 0.0  # 3.1: upper end of a receiver's random processing time; the bottleneck's service time
    buffer_bytes: int = 1 << 20  # receive buffer, and the sender's of data not yet sent (ours)
    hurry_after_s: float = 0.0  # receiver: 3.3, footnote 8: ask for an immediate repeat of what has been missing for so
    # long, by unicast; 0: never, it waits until the sender has heard from everybody (ours: the paper gives no time)
    drop_slowest: float = 0.0  # 4.3: drop a receiver that signals so many times as often as the next one; 0: never
    drop_slowest_after_s: float = 30.0  # when that has lasted for so long (ours)
    sample_s: float = 1.0  # with `assist`: a receiver has one acknowledgment unmerged so often (ours)
    assist: str = "none"  # none, switch: whether switches may merge loss-free acknowledgments
    from_start: bool = True  # receiver: the whole stream or nothing; False: from the first packet that can be had
    drop_after_s: float = 30.0  # a receiver silent or stalled for so long no longer holds the others back (ours)
    silence_s: float = 30.0  # a receiver gives a silent sender up after this (ours)
    heartbeat_s: float = 1.0  # a receiver that hears nothing says so often what it has and takes (ours)
    announce_s: float = 0.25  # between announcements, and between repeated joins (ours)
    max_receivers: int = 1024  # (ours)

    def __post_init__(self) -> None:
        if not 0 < self.payload_bytes <= MAX_PAYLOAD_BYTES:
            raise ValueError(f"parameter 'payload_bytes' must be in 1..{MAX_PAYLOAD_BYTES}")
        if self.buffer_bytes < 4 * self.payload_bytes:
            raise ValueError("parameter 'buffer_bytes' must hold at least 4 packets")
        check_times(self, ("announce_s", "sample_s", "heartbeat_s"), least=LEAST_PERIOD_S)
        check_times(self, ("drop_after_s", "silence_s", "drop_slowest_after_s"))
        check_times(self, ("processing_s", "rto_margin_s", "hurry_after_s"), or_zero=True)
        for name in ("rtt_exponent", "rexmit_thresh", "drop_slowest"):
            if not 0 <= getattr(self, name) < 1e6:
                raise ValueError(f"parameter '{name}' must not be negative")
        if not 1 <= self.eta < 1e6:
            raise ValueError("parameter 'eta' must be at least 1")
        if not 0 < self.interval_gain <= 1:
            raise ValueError("parameter 'interval_gain' must be in (0, 1]")
        if not 1 <= self.initial_cwnd <= 10:
            raise ValueError("parameter 'initial_cwnd' must be in 1..10")
        for name in ("max_burst", "max_receivers"):
            if getattr(self, name) < 1:
                raise ValueError(f"parameter '{name}' must be at least 1")
        if self.assist not in ("none", "switch"):
            raise ValueError("parameter 'assist' must be none or switch")
