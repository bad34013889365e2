"""A WEBRC receiver's rates, in packets per second (Table 1; RFC 3738, 3.2.2.5).

RR and IRR are measured over an epoch; TRR averages RR, and says what arrives. ARR follows the waves' known shape and
IRR, and says what the joined channels carry at this moment: right after a join, before anything of it has arrived.
"""

import math

from hosts.protocols.webrc.waves import Waves, gamma, joined_rate


class Rates:
    """`waves_joined` is NWC."""

    def __init__(self, waves: Waves, epoch_s: float) -> None:
        self._waves = waves
        self._epoch_s = epoch_s
        p, share = waves.p, epoch_s / waves.slot_s
        self._fall = p**share
        # Weights of the newest epoch in ARR and TRR, in start-up and later.
        self._beta = ((1 - p**0.25) / 2, 1 - (p / (1 + p)) ** share)
        self.zeta = (math.sqrt(p) / (1 + math.sqrt(p)), 2 * epoch_s / (4 + waves.slot_s))
        self._received = 0
        self._lost = 0
        self.waves_joined = 0
        self.arr = 0.0
        self.trr = 0.0
        self.rr = 0.0
        self.irr = 0.0
        self._sent = 0.0  # IRR averaged as TRR averages RR

    @property
    def lost_share(self) -> float:
        """Of the packets of TRR's time, in [0, 1)."""
        return max(0.0, 1 - self.trr / self._sent) if self._sent > 0 else 0.0

    def first_packet(self, base_psn: int) -> None:
        """The first packet of the base channel: its number says how far the time slot has gone."""
        waves = self._waves
        rate = waves.base_rate - base_psn % waves.base_packets * math.log(1 / waves.p) / waves.slot_s
        self.arr = self.trr = self._sent = max(rate, waves.p * waves.base_rate)

    def count(self, received: int, lost: int) -> None:
        """Packets of this epoch."""
        self._received += received
        self._lost += lost

    def epoch(self, *, starting_up: bool) -> None:
        """An epoch is over."""
        self.rr = self._received / self._epoch_s
        self.irr = (self._received + self._lost) / self._epoch_s
        self._received = self._lost = 0
        beta, zeta = (pair[0 if starting_up else 1] for pair in (self._beta, self.zeta))
        self.trr = (1 - zeta) * self.trr + zeta * self.rr
        self._sent = (1 - zeta) * self._sent + zeta * self.irr
        self.arr = self._fall * (1 - beta) * self.arr + beta * self.irr
        self._limit()

    def joined(self) -> None:
        """One more wave, from now on."""
        self.waves_joined += 1
        self.arr *= self._growth()

    def join_failed(self) -> None:
        """The wave that was joined last is given up."""
        self.arr /= self._growth()
        self.waves_joined -= 1

    def slot_changed(self) -> None:
        """A new time slot: the base channel is back at its highest rate, the lowest wave, if joined, is over."""
        waves = self._waves
        self.arr += (1 - waves.p) * waves.base_rate
        if self.waves_joined:
            self.waves_joined -= 1
            self.arr -= waves.base_rate
        self._limit()

    def _growth(self) -> float:
        """What the wave that was joined last has brought."""
        return gamma(self.waves_joined - 1, self._waves.p)

    def _limit(self) -> None:
        waves = self._waves
        most = min(joined_rate(self.waves_joined, waves.base_rate, waves.p), waves.session_rate)
        self.arr = min(max(self.arr, waves.p * waves.base_rate), most)
