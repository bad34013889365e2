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
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

SHORT_PSNS: Final = 1 << 16
LONG_PSNS: Final = 1 << 32
SHORT_CHANNELS: Final = 1 << 8
LEAST_SESSION_RATE: Final = 4.0
"""In base channel rates: below it there are not three waves, and nothing to choose from (ours)."""

_PRECISION: Final = 1e-6
"""Of the time within a slot, in slots."""
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


class Waves:
    """One session's channels; nothing changes after construction. Rates are in packets per second, times in seconds."""

    def __init__(
        self,
        session_rate_wanted: float,
        base_rate: float = 1.0,
        p: float = 0.75,
        slot_s: float = 10.0,
        quiescence_s: float = 300.0,
    ) -> None:
        """ValueError for parameters that no session can have."""
        if not LEAST_P <= p < 1:
            raise ValueError(f"the rate decrease factor P must be at least {LEAST_P:g} and less than 1")
        if not (base_rate > 0 and slot_s > 0 and quiescence_s >= 0):
            raise ValueError("base rate and slot duration must be positive, the quiescent time not negative")
        if not LEAST_SESSION_RATE * base_rate <= session_rate_wanted < math.inf:
            raise ValueError(f"the session rate must be at least {LEAST_SESSION_RATE:g} times the base rate")
        fall = math.log(1 / p)
        self.base_rate: Final = base_rate
        """BCR_P."""
        self.p: Final = p
        """P: what is left of a channel's rate after a time slot."""
        self.slot_s: Final = slot_s
        """TSD."""
        self.n: Final = active_slots(session_rate_wanted, base_rate, p)
        """N: active time slots of a wave, which is also the number of waves at any time."""
        self.q: Final = max(1, math.ceil(quiescence_s / slot_s))
        """Q: quiescent time slots, so many that a wave channel rests at least QD."""
        self.t: Final = self.n + self.q
        """T: time slot indices, and wave channels; also the base channel's number."""
        self.slot_packets: Final = round(session_rate_wanted * slot_s)
        """Packets of all channels together in a time slot."""
        self.session_rate: Final = self.slot_packets / slot_s
        """SR_P as it is sent: the nearest one to what is wanted with a whole number of packets per time slot."""
        self.base_packets: Final = math.ceil(base_rate * slot_s * (p - 1) / math.log(p))
        """L: packets on the base channel in a time slot (RFC 3738, 3.1.1)."""
        self.wave_packets: Final = self.slot_packets - self.base_packets
        """Packets of one whole wave: each slot carries one wave's worth, of N waves of different ages."""
        if self.n < 2 or self.wave_packets <= 0:
            raise ValueError("the session rate must be higher: base channel and waves do not fit into it")
        if self.wave_packets > LONG_PSNS or self.t >= 1 << 16:
            raise ValueError("more packets in a wave, or more channels, than the packet header can number")
        self.is_long: Final = self.t >= SHORT_CHANNELS or self.wave_packets > SHORT_PSNS
        """Whether the long format of the congestion control information is needed (RFC 3738, 5.2)."""
        self.psns: Final = LONG_PSNS if self.is_long else SHORT_PSNS
        """How many packet sequence numbers there are; a wave's last packet has the highest."""
        self.base_psns: Final = self.psns // self.base_packets * self.base_packets
        """How many the base channel uses: a slot's first packet is congruent to 0 modulo L (RFC 3738, 3.1.2)."""
        # The base channel's rate at a slot's beginning, raised so that a slot carries L whole packets.
        self._base: Final = self.base_packets / slot_s * fall / (1 - p)
        # Base channel and the N - 2 lowest waves at a slot's beginning; they fall together.
        self._steady: Final = self._base + base_rate * sum(p**-k for k in range(1, self.n - 1))
        # The exponential of the wave of age 1 at a slot's beginning.
        self._second: Final = base_rate * p ** -(self.n - 1)
        both = self._steady + self._second
        self.begins_at: Final = max(0.0, math.log(both / self.session_rate) / fall)
        """`x` at which the newest wave begins; 1 or more: with the next slot."""
        # `x` from which the newest wave has more than BCR_P, and the one before it follows its exponential.
        self._leads_at: Final = max(0.0, math.log(both / (self.session_rate - base_rate)) / fall)

    def channel(self, slot: int, age: int) -> int:
        """The number of the channel whose wave has this age in this slot (counted from the session's first)."""
        return (slot + self.n - 1 - age) % self.t

    def rate_before_end(self, packets: int) -> float:
        """A wave's rate when so many of its packets are still to come, but for its first two slots."""
        return self.base_rate + packets * math.log(1 / self.p) / self.slot_s

    def rate_with(self, packets: int) -> float:
        """A wave's rate when so many of its packets are still to come, in its first two slots, too."""
        sent = float(self.wave_packets - packets)
        newest, second = self.wave_volume(0, 1.0), self.wave_volume(1, 1.0)
        if sent >= newest + second:
            return self.rate_before_end(packets)
        age = int(sent >= newest)
        sent -= newest * age
        low, high = 0.0, 1.0
        while high - low > _PRECISION:
            x = (low + high) / 2
            low, high = (x, high) if self.wave_volume(age, x) <= sent else (low, x)
        return self.wave_rate(age, high)

    # --- rates within a slot

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

    # --- volumes within a slot: packets from its beginning to `x`

    def wave_volume(self, age: int, x: float) -> float:
        """Of the wave of this age."""
        if age > 1:
            return self._decayed(self.base_rate * self.p ** -(self.n - age), 0.0, x)
        both = self.session_rate * self.slot_s * x - self._decayed(self._steady, 0.0, x)
        leads = min(x, self._leads_at)
        newest = self.base_rate * self.slot_s * (leads - min(x, self.begins_at))
        newest += self.session_rate * self.slot_s * (x - leads)
        newest -= self._decayed(self._steady + self._second, leads, x)
        return newest if age == 0 else both - newest

    def slot_volumes(self) -> tuple["array[float]", list[tuple["array[float]", float]]]:
        """Up to the end of each of a slot's ticks, of the base channel; and of each wave, youngest first, as
        `wave_volume` has it to the last bit, with what to multiply it with. How most waves fall is the same."""
        ticks, p = self.slot_packets, self.p
        ends = [tick / ticks for tick in range(1, ticks + 1)]
        left = [math.pow(p, x) for x in ends]
        fallen = array("d", [1.0 - share for share in left])
        base_scale, steady_scale = self._scale(self._base), self._scale(self._steady)
        all_packets, own_packets = self.session_rate * self.slot_s, self.base_rate * self.slot_s
        begins, leads = bisect_right(ends, self.begins_at), bisect_right(ends, self._leads_at)
        # The newest wave: nothing, then at the base rate, then what the one before it leaves.
        newest = array("d", bytes(8 * begins))
        newest.extend([own_packets * (x - self.begins_at) for x in ends[begins:leads]])
        at_lead = own_packets * (self._leads_at - min(self._leads_at, self.begins_at))
        both_scale, lead_share = self._scale(self._steady + self._second), math.pow(p, self._leads_at)
        newest.extend(
            [
                at_lead + all_packets * (x - self._leads_at) - (lead_share - share) * both_scale
                for x, share in zip(ends[leads:], left[leads:], strict=True)
            ]
        )
        second = array(
            "d",
            [all_packets * x - share * steady_scale - new for x, share, new in zip(ends, fallen, newest, strict=True)],
        )
        lower = [(fallen, self._scale(self.base_rate * p ** -(self.n - age))) for age in range(2, self.n)]
        return array("d", [share * base_scale for share in fallen]), [(newest, 1.0), (second, 1.0), *lower]

    def _decayed(self, rate: float, since: float, until: float) -> float:
        """Packets, between two times of a slot, of a channel that begins the slot at `rate`."""
        volume = math.pow(self.p, since) - math.pow(self.p, until)
        return volume * self._scale(rate)

    def _scale(self, rate: float) -> float:
        return rate * self.slot_s / math.log(1 / self.p)

    def rates(self, x: float) -> Sequence[float]:
        """The rates of the waves, youngest first."""
        return [self.wave_rate(age, x) for age in range(self.n)]
