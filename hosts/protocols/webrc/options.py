"""WEBRC's parameters: the session's (Table 1), which sender and receivers share, and a receiver's own."""

import math
from dataclasses import dataclass, replace
from typing import Final

from hosts.parts.bounds import (
    MOST,
    MOST_S,
    at_least,
    check,
    not_negative,
    one_of,
    period,
    positive,
    seconds,
    share,
    within,
)
from hosts.protocols.webrc.flute.objects import SCHEMES
from hosts.protocols.webrc.packets import LINK_BYTES, MAX_PACKET_BYTES, header_bytes
from hosts.protocols.webrc.rules import RULES
from hosts.protocols.webrc.waves import Waves

LEAST_PACKET_BYTES: Final = LINK_BYTES + header_bytes(is_long=True) + 64
"""With some data in it, beside the session's description."""
LEAST_WINDOW_BYTES: Final = LEAST_PACKET_BYTES + 28
"""With a deadline: a symbol with a byte of data, and EXT_FTI, beside the session's longer description (windows.py)."""

MOST_OF_LINK: Final = 0.8
"""Of the sender's own link, which carries all channels at all times: for a session that was given no rate (ours)."""


@dataclass(frozen=True, slots=True)
class WebrcOptions:
    """One session's parameters. A receiver takes the session's own from the sender's packets (description.py)."""

    # SR_b, of whole packets as links carry them (ours; the paper's varies): the most that a receiver can have. The
    # default is a LAN's; no more of it is sent than four fifths of the sender's own link, where its rate is known.
    session_rate_bps: float = positive(100e6)
    # LENP_B: here the packet with all its headers, as ns-2's. Nearly TCP's, for the equation is in packets, with room
    # for a tunnel's headers (the paper's: 1,024 bytes).
    packet_bytes: int = within(1440, LEAST_PACKET_BYTES, MAX_PACKET_BYTES)
    # BCR_P: 46 kbit/s; the less, the longer is start-up (the paper's: 1).
    base_rate: float = at_least(4.0, 1 / MOST_S, below=MOST, unit="packets/s")
    p: float = share(0.75)  # P: what a slot leaves of a wave's rate (Table 1; RFC 3738's default)
    slot_s: float = period(10.0)  # TSD: how long a slot is (Table 1; RFC 3738's default)
    # QD: how late a leave may take effect (Table 1; RFC 3738's default).
    quiescence_s: float = seconds(300.0, below=MOST, or_zero=True)
    epoch_s: float = period(0.25)  # EL: a receiver decides so often (ours; the paper's: 0.5)
    # MRR_b: the bandwidth of the receiver's last link, where it is known; 0: no limit (Table 1).
    max_rate_bps: float = not_negative(0.0)
    # today: rules.py; waves are left as they are joined, by the target rate.
    # paper: the target rate is limited by what arrives, Gamma^1.5 TRR (Eq. (5)), Gamma^3 TRR in start-up; RR shows that
    # packets queue. rfc: no limit, 4 TRR in start-up; TRR shows it, and the thresholds are RFC 3738's.
    rules: str = one_of(*RULES)
    # Leave start-up when MRTT jumps or the reception rate lags, before the first loss (3.2).
    early_detection: bool = True
    # With the paper's or RFC 3738's rules: leave the wave joined last when start-up ends so (ours; today's rules always
    # do). It is for networks where leaves take effect at once.
    early_leave: bool = False
    avoid_overflow: bool = True  # do not join while the reception rate does not fall with the waves (3.3)
    # Of real-time data: the sender repairs what is lost of a window of half of this time, with RaptorQ's code, for as
    # long (windows.py; ours). 0: it does not, and zeros fill what the application leaves empty.
    deadline_s: float = seconds(0.0, below=MOST, or_zero=True)
    # What the sender codes files with: raptorq, reed-solomon or no-code. Receivers take what
    # comes (RFC 6330, RFC 5510, RFC 5445; the default is ours).
    fec: str = one_of(*SCHEMES)
    # Files are transferred compressed (RFC 6726's content encoding).
    gzip: bool = False
    flute_version: int = within(2, 1, 2, unit="version")  # what the sender says it is (RFC 3926: 1, RFC 6726: 2)
    # A receiver takes all files of the session, one after the other, and not the first one that is whole only (ours).
    every_file: bool = False
    pattern: str = "*"  # of the names of the files that a receiver takes, as a shell's (fnmatch; ours)
    newest: bool = False  # a receiver takes the file that was described last, and no other (ours)
    # The sender of a file stops after so long; 0: when it is stopped (ours).
    carousel_s: float = seconds(0.0, below=MOST, or_zero=True)

    def __post_init__(self) -> None:
        check(self)
        if self.deadline_s and self.packet_bytes < LEAST_WINDOW_BYTES:
            raise ValueError(f"parameter 'packet_bytes' must be at least {LEAST_WINDOW_BYTES} with 'deadline_s'")
        if self.epoch_s > self.slot_s / 2:
            raise ValueError("parameter 'epoch_s' must be at most half of 'slot_s'")
        self.waves()

    def within_link(self, link_bps: float) -> "WebrcOptions":
        """With a session rate that the sender's link has room for, where none was asked for but the default. 0: it is
        not known."""
        most = MOST_OF_LINK * link_bps
        usual = WebrcOptions.__dataclass_fields__["session_rate_bps"].default
        if not 0 < most < self.session_rate_bps or self.session_rate_bps != usual:
            return self
        return replace(self, session_rate_bps=most)

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
