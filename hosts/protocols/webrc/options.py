"""WEBRC's parameters: the session's (Table 1), which sender and receivers share, and a receiver's own."""

import math
from dataclasses import dataclass

from hosts.parts.bounds import LEAST_PERIOD_S, MOST_S, check_times
from hosts.protocols.webrc.packets import MAX_PACKET_BYTES, payload_bytes
from hosts.protocols.webrc.rules import RULES
from hosts.protocols.webrc.waves import Waves


@dataclass(frozen=True, slots=True)
class WebrcOptions:
    """One session's parameters; the session description, which receivers have beforehand."""

    session_rate_bps: float = 4e6  # SR_b, of whole packets as links carry them (ours; the paper's varies)
    packet_bytes: int = 1024  # LENP_B: here the packet with all its headers, as ns-2's
    base_rate: float = 1.0  # BCR_P, packets/s
    p: float = 0.75  # P
    slot_s: float = 10.0  # TSD
    quiescence_s: float = 300.0  # QD: how late a leave may take effect
    epoch_s: float = 0.5  # EL
    max_rate_bps: float = 0.0  # MRR_b; 0: no limit. The bandwidth of the receiver's last link, where it is known
    # paper: the target rate is limited by what arrives, Gamma^1.5 TRR (Eq. (5)), Gamma^3 TRR in start-up; RR shows that
    # packets queue. rfc: no limit, 4 TRR in start-up; TRR shows it, and the thresholds are RFC 3738's.
    rules: str = "paper"
    early_detection: bool = (
        True  # 3.2: leave start-up when MRTT jumps or the reception rate lags, before the first loss
    )
    avoid_overflow: bool = True  # 3.3: do not join while the reception rate does not fall with the waves
    carousel_s: float = 0.0  # the sender of a file stops after so long; 0: when it is stopped

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise ValueError("parameter 'rules' must be paper or rfc")
        if not self.packet_bytes <= MAX_PACKET_BYTES or payload_bytes(self.packet_bytes, is_long=True) < 16:
            raise ValueError(f"parameter 'packet_bytes' must be in 82..{MAX_PACKET_BYTES}")
        check_times(self, ("slot_s", "epoch_s"), least=LEAST_PERIOD_S)
        check_times(self, ("carousel_s", "quiescence_s"), below=1e12, or_zero=True)
        if not 0 < self.session_rate_bps < 1e12:
            raise ValueError("parameter 'session_rate_bps' must be positive")
        if not 1 / MOST_S <= self.base_rate < 1e12:
            raise ValueError(f"parameter 'base_rate' must be at least {1 / MOST_S:g} packets/s")
        if not 0 <= self.max_rate_bps < 1e12:
            raise ValueError("parameter 'max_rate_bps' must not be negative")
        if self.epoch_s > self.slot_s / 2:
            raise ValueError("parameter 'epoch_s' must be at most half of 'slot_s'")
        self.waves()

    @property
    def packet_bits(self) -> int:
        """Of a packet as links carry it."""
        return 8 * self.packet_bytes

    @property
    def max_rate(self) -> float:
        """MRR_P, packets/s."""
        return self.max_rate_bps / self.packet_bits if self.max_rate_bps else math.inf

    def waves(self) -> Waves:
        """The session's channels. ValueError when there are none like that."""
        rate = self.session_rate_bps / self.packet_bits
        return Waves(rate, self.base_rate, self.p, self.slot_s, self.quiescence_s)
