"""What a receiver's path has room for while nobody else fills its queue (ours).

The equation goes by loss intervals, and by the mean of what a Reno and a CUBIC have: so the rate waits as long as the
slower of them would for the next loss event, though nobody may be there to leave the room to. That shows: one-way
delays are as short as ever, round trip by round trip. In such times, and only in these, the window of a CUBIC grows
here from what its last loss event has left (RFC 9438, 4), beyond what was there before that as the mean of both does,
and the rate is no less than it allows.
"""

from math import cbrt, inf
from typing import Final

from hosts.parts.adaptive import ALPHA_SHARE, NOISE_S
from hosts.parts.base_delay import WINDOW_S, BaseDelay
from hosts.parts.cubic import BETA, RENO_GROWTH, C
from hosts.parts.throughput import growth_without_loss

FREE_ROUNDS: Final = 5
"""Round trips on end without a queue after which there is room: a TCP that has halved its window leaves the queue empty
for some, too (ours)."""
FEW_PACKETS: Final = 2
"""That may always wait: what comes between two of ours is no queue (ours)."""
EPISODE_RTTS: Final = 4
"""From a loss event on: those that follow are still of what was sent before the sender knew, and TCP, too, takes what
was in flight for one loss (RFC 6582). Its report, the queue's emptying and averages of queues take as long (ours)."""
WINDOW_RTTS: Final = 30
"""The least delay is of no fewer round trips (ours)."""


class Room:
    """Times in seconds, delays up to a constant; windows in packets."""

    __slots__ = ("_base", "_before", "_free_rounds", "_free_s", "_least", "_round_at", "_same_until")

    def __init__(self) -> None:
        self._base = BaseDelay()
        self._before = 0.0  # the window at the last loss event; 0: there was none
        self._same_until = -inf
        self._free_s = 0.0  # without a queue since then, but for the first rounds
        self._free_rounds = 0  # on end
        self._round_at = 0.0  # its beginning
        self._least = inf  # delay in it

    def lost(self, at: float, window: float, rtt: float) -> None:
        """A loss event, with so many packets in flight."""
        if at > self._same_until:
            self._same_until = at + EPISODE_RTTS * rtt
            self._before = window
        else:
            self._before = max(self._before, window)
        self._free_s = 0.0
        self._free_rounds = 0

    def passed(self, at: float, delay: float, rtt: float, packet_s: float) -> None:
        """A packet came after `delay`; packets come every `packet_s`."""
        if delay < self._least:
            self._least = delay
        elapsed = at - self._round_at
        if elapsed < rtt:
            return
        base = self._base
        base.window_s = max(WINDOW_S, WINDOW_RTTS * rtt)
        base.add(self._least, at)
        waited = self._least - base.least
        if waited > max(ALPHA_SHARE * rtt, NOISE_S, FEW_PACKETS * packet_s):
            self._free_rounds = 0
        elif self._free_rounds < FREE_ROUNDS:
            self._free_rounds += 1
        else:
            self._free_s += min(elapsed, 2 * rtt)
        self._round_at = at
        self._least = inf

    def window(self, rtt: float) -> float:
        """Packets in flight that there is room for; 0: nothing is known of any."""
        free_s = self._free_s
        if not free_s or not self._before:
            return 0.0
        left = BETA * self._before
        away = free_s - cbrt((self._before - left) / C)
        if away > 0:
            return self._before + growth_without_loss(away, rtt)
        return max(left + RENO_GROWTH * free_s / rtt, self._before + C * away * away * away)
