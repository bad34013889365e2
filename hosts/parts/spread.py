"""When a receiver whose path is worse than what the sender goes by says so, among many: at random, and not if another
was faster (ours).

If all said so at once (as by the VLMCC paper, which regulates nothing), what has happened to a thousand would be a
thousand challenges in one round trip. So each waits for an exponentially distributed time, as in TFMCC (2.5.1;
Nonnenmacher and Biersack 1998), that grows with the number of receivers as its logarithm: one of them, on average,
speaks at once, and as many as the session has chosen before they can hear that another one leads. Then they are
silent. They hear it behind the very queue that everybody complains of, so the wait is counted in round trips as long
as they are when it ends, not when it began.
"""

import random
from math import inf, log


def spread_rtts(rng: random.Random, receivers: int, challenges: float) -> float:
    """Round trips to wait: log n u to the base `challenges` with u uniform in (0, 1], or 0.

    So `challenges` to the power of t of n receivers have spoken after t of them. One receiver does not wait, nor does
    anybody with `challenges` 0."""
    if receivers < 2 or challenges <= 1:
        return 0.0
    return max(0.0, log(receivers * (1 - rng.random())) / log(challenges))


class Wait:
    """A follower's wait before its challenge. Times in seconds."""

    __slots__ = ("_rtts", "_since", "at")

    def __init__(self) -> None:
        self._rtts = 0.0
        self._since = 0.0
        self.at = inf
        """When it ends, as things stand; infinite: nobody waits."""

    def begin(self, rtts: float, rtt: float, now: float) -> None:
        """Wait for so many round trips."""
        self._rtts, self._since = rtts, now
        self.at = now + rtts * rtt

    def stretch(self, rtt: float) -> None:
        """A packet took `rtt` to and fro: the wait is at least so many of these."""
        if self.at != inf:
            self.at = max(self.at, self._since + self._rtts * rtt)

    def end(self) -> None:
        """It is over, or there is nothing to wait for."""
        self.at = inf
