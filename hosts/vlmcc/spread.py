"""When a follower that wants to lead says so, among many that do: at random, and not if another was faster (ours).

The paper regulates nothing: whoever finds itself worse off says so at once. Where a thousand followers share what has
happened to one of them, that is a thousand challenges in one round trip. So each waits for an exponentially distributed
part of some round trips, as in TFMCC (2.5.1; Nonnenmacher and Biersack 1998), and is silent when data name a new leader
in the meantime. That they do so behind the very queue that everybody complains of: the wait is counted in round trips
as long as they are when it ends, not when it began. With few receivers there is hardly a wait.
"""

import random
from math import inf, log


def spread_share(rng: random.Random, receivers: int) -> float:
    """In [0, 1]: 1 + log_n u with u uniform in (0, 1], or 0. One receiver does not wait."""
    if receivers < 2:
        return 0.0
    return max(0.0, 1 + log(1 - rng.random()) / log(receivers))


class Wait:
    """A follower's wait before its challenge. Times in seconds."""

    __slots__ = ("_longest_rtts", "_share", "_since", "at")

    def __init__(self, longest_rtts: float) -> None:
        self._longest_rtts = longest_rtts
        self._share = 0.0
        self._since = 0.0
        self.at = inf
        """When it ends, as things stand; infinite: nobody waits."""

    def begin(self, share: float, rtt: float, now: float) -> None:
        """Wait for a share of the longest time."""
        self._share, self._since = share, now
        self.at = now + share * self._longest_rtts * rtt

    def stretch(self, rtt: float) -> None:
        """A packet took `rtt` to and fro: the wait is at least so many of these."""
        if self.at != inf:
            self.at = max(self.at, self._since + self._share * self._longest_rtts * rtt)

    def end(self) -> None:
        """It is over, or there is nothing to wait for."""
        self.at = inf
