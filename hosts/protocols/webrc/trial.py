"""Whether the wave that was joined last is too much for the path, with today's rules (ours).

A join brings a third more than there was, with P of 0.75, and the equation sees by and by only that this does not come
through. So each join is on trial until a full epoch of it has come. Rates are in packets per second, `now` in seconds.
"""

import math
from typing import Final

from hosts.parts.cubic import BETA, C
from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.rules import LAG_PACKETS, LAG_SHARE
from hosts.protocols.webrc.waves import Waves, gamma

OVERLOADED_EPOCHS: Final = 4
"""On end with losses and less arriving than the channels carry, after which a wave is left without a join on trial:
what others join and leave again behind the same bottleneck is over by then."""


class Trial:
    """Of a receiver's joins, one after the other."""

    def __init__(self, waves: Waves, rates: Rates, epoch_s: float) -> None:
        self._waves = waves
        self._rates = rates
        self._epoch_s = epoch_s
        self.is_on = False
        """No full epoch has shown yet what the wave joined last has brought."""
        self.has_failed = False
        """It has brought more than comes through."""
        self.is_overloaded = False
        """For so long more has been sent than comes through, whoever joined what, that a wave is to be left."""
        self.is_asked = False
        """The wave on trial has been joined to see whether others have it (asking.py)."""
        self._packets = self._lost = 0  # since its first one
        self._lost_at = -math.inf  # the last lost or marked packet
        self._until = -math.inf  # the last epoch of a trial
        self._lagging = 0  # epochs on end in which less arrived than the channels carried
        self._full_at = math.inf  # the rate that came through when a join had failed
        self._full_until = -math.inf
        self._hold_s = 0.0

    def begin(self, *, is_asked: bool = False) -> None:
        """A wave has been joined."""
        self.is_on, self.has_failed = True, False
        self.is_asked = is_asked
        self._packets = self._lost = 0

    def end(self) -> None:
        """The wave has brought nothing, or has been given up."""
        self.is_on = self.has_failed = self.is_overloaded = False
        self._lagging = 0

    def count(self, received: int, lost: int, now: float, *, is_marked: bool, is_joining: bool) -> None:
        """Packets; `is_joining`: none of the wave on trial has come yet."""
        if lost or is_marked:
            self._lost_at = now
        if self.is_on and not is_joining:
            self._packets += received + lost
            self._lost += lost
            # Who asks loses by others' joins already.
            share = LAG_SHARE + (self._rates.lost_share if self.is_asked else 0.0)
            self.has_failed = self.has_failed or self._lost > share * self._packets + LAG_PACKETS

    def epoch(self, now: float, *, is_full: bool, lags: bool) -> None:
        """An epoch is over. `is_full`: all of it was after the wave's first packet. A queue that overflows, or is about
        to, makes less arrive; others' queues do so for a moment, too, but a join of one's own is the likelier."""
        self._lagging = self._lagging + 1 if is_full and lags else 0
        is_losing = now - self._lost_at <= 2 * self._epoch_s
        self.is_overloaded = is_losing and self._lagging >= OVERLOADED_EPOCHS
        if self.is_on:
            self._until = now
        if not self.is_on or not is_full:
            return
        self.has_failed = self.has_failed or (is_losing and self._lagging > 0 and not self.is_asked)
        if not self.has_failed and (self.is_asked or not self._lagging):
            self.is_on = False
            self._hold_s /= 2

    def until(self, now: float) -> float:
        """When the last trial was over; now, where one is on."""
        return now if self.is_on else self._until

    def hold(self, artt: float, now: float) -> None:
        """The wave that has failed is left: no such rate again before CUBIC would have it again (RFC 9438, Eq. (2)),
        twice as long after each failure, half as long after each success."""
        arr = self._rates.arr
        came = arr * (1 - self._lost / self._packets) if self._lost else self._rates.rr
        self._full_at = max(came, arr / gamma(self._rates.waves_joined - 1, self._waves.p))
        least = math.cbrt(self._full_at * artt * (1 - BETA) / C)
        self._hold_s = min(max(2 * self._hold_s, least), self._waves.slot_s)
        self._full_until = now + self._hold_s

    def forbids(self, rate: float, now: float) -> bool:
        """Whether this rate is known to be more than comes through."""
        return now < self._full_until and rate > self._full_at
