"""The fluid model of WEBRC's sender: the rate of every channel at every moment (Section 3, Eq. (3); RFC 3738, 3.1).

A cycle has T time slots of TSD seconds. A wave's *age* is the number of whole slots since the slot in which it begins,
0..N-1; the channel with number i ends its wave with time slot i, so that in slot s the wave of age a is on channel
s + N - 1 - a modulo T. `x` in [0, 1) is the time within a slot.

What the paper leaves to an unpublished report is how a wave begins. Ours: base channel and the N - 2 older waves follow
their exponentials exactly; the wave of age 1 follows its own as far as the constant total rate has room for it; the
newest wave has what is left, and begins when something is left, at rate BCR_P, which the wave of age 1 makes room for
until as much is left anyhow. So at most the first two slots of a wave deviate (RFC 3738, 3.1.2), and the total is
constant.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Volumes: TypeAlias = npt.NDArray[np.float64]

SHORT_PSNS: Final = 1 << 16
LONG_PSNS: Final = 1 << 32
SHORT_CHANNELS: Final = 1 << 8
LEAST_SESSION_RATE: Final = 4.0
"""In base channel rates: below it there are not three waves, and nothing to choose from (ours)."""

LEAST_P: Final = 1e-3
"""A thousandth each time slot leaves nothing of a wave but its beginning (ours)."""


def active_slots(session_rate: float, base_rate: float, p: float) -> int:
    """N by Eq. (3): slots that a wave lasts, for a total of `session_rate`. Rates in packets per second."""
    return math.ceil(math.log(1 + (1 / p) * (1 / p - 1) * session_rate / base_rate) / math.log(1 / p) - 1)


def gamma(waves: int, p: float) -> float:
    """Eq. (4): by what factor the reception rate grows when `waves` joined waves become one more."""
    return (p ** -(waves + 2) - 1) / (p ** -(waves + 1) - 1)


def joined_rate(waves: int, base_rate: float, p: float) -> float:
    """Packets per second of the base channel and the lowest `waves` waves at the beginning of a time slot."""
    return base_rate * (p ** -(waves + 1) - 1) / (1 / p - 1)


@dataclass(frozen=True)
class Waves:
    """One session's channels. Rates are in packets per second, times in seconds."""

    session_rate_wanted: float
    """SR_P; `session_rate` is the nearest one with a whole number of packets per time slot."""
    base_rate: float = 1.0
    """BCR_P."""
    p: float = 0.75
    """P: what is left of a channel's rate after a time slot."""
    slot_s: float = 10.0
    """TSD."""
    quiescence_s: float = 300.0
    """QD: a wave channel rests at least so long."""
    n: int = field(init=False)
    """N: active time slots of a wave, which is also the number of waves at any time."""
    q: int = field(init=False)
    """Q: quiescent time slots."""

    def __post_init__(self) -> None:
        """ValueError for parameters that no session can have."""
        if not LEAST_P <= self.p < 1:
            raise ValueError(f"the rate decrease factor P must be at least {LEAST_P:g} and less than 1")
        if not (self.base_rate > 0 and self.slot_s > 0 and self.quiescence_s >= 0):
            raise ValueError("base rate and slot duration must be positive, the quiescent time not negative")
        if not LEAST_SESSION_RATE * self.base_rate <= self.session_rate_wanted < math.inf:
            raise ValueError(f"the session rate must be at least {LEAST_SESSION_RATE:g} times the base rate")
        object.__setattr__(self, "n", active_slots(self.session_rate_wanted, self.base_rate, self.p))
        object.__setattr__(self, "q", max(1, math.ceil(self.quiescence_s / self.slot_s)))
        if self.n < 2 or self.wave_packets <= 0:
            raise ValueError("the session rate must be higher: base channel and waves do not fit into it")
        if self.wave_packets > LONG_PSNS or self.t >= 1 << 16:
            raise ValueError("more packets in a wave, or more channels, than the packet header can number")

    @cached_property
    def t(self) -> int:
        """T: time slot indices, and wave channels; also the base channel's number."""
        return self.n + self.q

    @cached_property
    def slot_packets(self) -> int:
        """Packets of all channels together in a time slot."""
        return round(self.session_rate_wanted * self.slot_s)

    @cached_property
    def session_rate(self) -> float:
        """SR_P as it is sent."""
        return self.slot_packets / self.slot_s

    @cached_property
    def base_packets(self) -> int:
        """L: packets on the base channel in a time slot (RFC 3738, 3.1.1)."""
        return math.ceil(self.base_rate * self.slot_s * (self.p - 1) / math.log(self.p))

    @cached_property
    def wave_packets(self) -> int:
        """Packets of one whole wave: each slot carries one wave's worth, of N waves of different ages."""
        return self.slot_packets - self.base_packets

    @cached_property
    def is_long(self) -> bool:
        """Whether the long format of the congestion control information is needed (RFC 3738, 5.2)."""
        return self.t >= SHORT_CHANNELS or self.wave_packets > SHORT_PSNS

    @cached_property
    def psns(self) -> int:
        """How many packet sequence numbers there are; a wave's last packet has the highest."""
        return LONG_PSNS if self.is_long else SHORT_PSNS

    @cached_property
    def base_psns(self) -> int:
        """How many the base channel uses: a slot's first packet is congruent to 0 modulo L (RFC 3738, 3.1.2)."""
        return self.psns // self.base_packets * self.base_packets

    def channel(self, slot: int, age: int) -> int:
        """The number of the channel whose wave has this age in this slot (counted from the session's first)."""
        return (slot + self.n - 1 - age) % self.t

    def rate_before_end(self, packets: int) -> float:
        """A wave's rate when so many of its packets are still to come, but for its first two slots."""
        return self.base_rate + packets * math.log(1 / self.p) / self.slot_s

    # --- rates within a slot

    @cached_property
    def _base(self) -> float:
        """The base channel's rate at a slot's beginning, raised so that a slot carries L whole packets."""
        return self.base_packets / self.slot_s * math.log(1 / self.p) / (1 - self.p)

    @cached_property
    def _steady(self) -> float:
        """Base channel and the N - 2 lowest waves at a slot's beginning; they fall together."""
        return self._base + self.base_rate * sum(self.p**-k for k in range(1, self.n - 1))

    @cached_property
    def _second(self) -> float:
        """The exponential of the wave of age 1 at a slot's beginning."""
        return self.base_rate * self.p ** -(self.n - 1)

    @cached_property
    def begins_at(self) -> float:
        """`x` at which the newest wave begins; 1 or more: with the next slot."""
        return max(0.0, math.log((self._steady + self._second) / self.session_rate) / math.log(1 / self.p))

    @cached_property
    def _leads_at(self) -> float:
        """`x` from which the newest wave has more than BCR_P, and the one before it follows its exponential."""
        room = self.session_rate - self.base_rate
        return max(0.0, math.log((self._steady + self._second) / room) / math.log(1 / self.p))

    def wave_rate(self, age: int, x: float) -> float:
        """The rate of the wave of this age at `x`."""
        if age > 1:
            return float(self.base_rate * self.p ** (x - (self.n - age)))
        room = self.session_rate - self._steady * self.p**x
        second = float(self._second * self.p**x)
        if x < self.begins_at:
            return room if age == 1 else 0.0
        if x < self._leads_at:
            return room - self.base_rate if age == 1 else self.base_rate
        return second if age == 1 else room - second

    # --- volumes within a slot: packets from its beginning to each of `x`

    def base_volume(self, x: Volumes) -> Volumes:
        """Of the base channel."""
        return self._decayed(self._base, 0.0, x)

    def wave_volume(self, age: int, x: Volumes) -> Volumes:
        """Of the wave of this age."""
        if age > 1:
            return self._decayed(self.base_rate * self.p ** -(self.n - age), 0.0, x)
        both: Volumes = self.session_rate * self.slot_s * x - self._decayed(self._steady, 0.0, x)
        leads = np.minimum(x, self._leads_at)
        newest: Volumes = self.base_rate * self.slot_s * (leads - np.minimum(x, self.begins_at))
        newest += self.session_rate * self.slot_s * (x - leads)
        newest -= self._decayed(self._steady + self._second, leads, x)
        return newest if age == 0 else both - newest

    def _decayed(self, rate: float, since: Volumes | float, until: Volumes) -> Volumes:
        """Packets, between two times of a slot, of a channel that begins the slot at `rate`."""
        volume: Volumes = np.power(self.p, since) - np.power(self.p, until)
        return volume * (rate * self.slot_s / math.log(1 / self.p))

    def rates(self, x: float) -> Sequence[float]:
        """The rates of the waves, youngest first."""
        return [self.wave_rate(age, x) for age in range(self.n)]
