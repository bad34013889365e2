"""A receiver's round trips in slow start: whether they get longer, as a queue does that begins to fill (HyStart++,
RFC 9406, 4.2).
"""

LEAST_RISE_S = 0.004
"""MIN_RTT_THRESH."""
MOST_RISE_S = 0.016
"""MAX_RTT_THRESH."""
RISE = 1 / 8
"""Of the round before: 1 / MIN_RTT_DIVISOR."""
SAMPLES = 8
"""N_RTT_SAMPLE: a round's minimum is of so many at least."""
CAUTIOUS_ROUNDS = 5
"""CSS_ROUNDS: of cautious slow start, before it ends."""
CAUTIOUS_DIVISOR = 4
"""CSS_GROWTH_DIVISOR: in these the window grows so much less."""
NEVER_S = float("inf")


class Rounds:
    """Minima by round. A round ends when what was sent last at its beginning is acknowledged."""

    __slots__ = ("_before", "_current", "_remembered", "_samples", "_until")

    def __init__(self) -> None:
        self._until = 0
        self._before = NEVER_S
        self._current = NEVER_S
        self._samples = 0
        self._remembered = 0.0

    def add(self, rtt: float, highest: int, end: int, samples: int = 1) -> bool:
        """`highest` is acknowledged, and packet `end` is sent next. Whether a round ended with the one before.
        `samples`: packets that took as long.
        """
        ended = highest >= self._until
        if ended:
            self._until = end
            self._before, self._current, self._samples = self._current, NEVER_S, 0
        self._current = min(self._current, rtt)
        self._samples += samples
        return ended

    @property
    def are_longer(self) -> bool:
        """Than in the round before, beyond what chance makes of it."""
        rise = min(max(LEAST_RISE_S, self._before * RISE), MOST_RISE_S)
        return self._samples >= SAMPLES and self._before < NEVER_S and self._current >= self._before + rise

    def remember(self) -> None:
        """This round, for `are_short_again`."""
        self._remembered = self._current

    @property
    def are_short_again(self) -> bool:
        """As before they were found longer."""
        return self._samples >= SAMPLES and self._current < self._remembered
