"""Whether others behind the same bottleneck have more, with today's rules (ours).

Receivers behind one queue lose by what any of them joins, and by the equation those who have less than the others fall
behind further: a loss event comes after fewer packets of theirs. But the next wave costs nobody anything when it flows
to others already, and it is no more than what these may have by the same losses. So a receiver that loses asks: it
joins the next wave for half of a round trip, or for as long as what comes through the queue now waits there at least
(waiting.py). Only what flows already comes within this time; else the wave is left again before more than a few packets
of it have been sent.

All ask at the same moments, when certain packets of the base channel come. So none takes for an answer what another's
question has fetched: that comes after a whole round trip.
"""

import math
from typing import Final

EVERY: Final = 8
"""Packets of the base channel between two moments (ours): two seconds."""
MOST_DOUBLINGS: Final = 2
"""Of `EVERY` (ours), after questions in vain: a time slot."""


class Asking:
    """Of one receiver. `now` is in seconds."""

    def __init__(self) -> None:
        self.until = math.inf
        """So long an answer is waited for; infinite: nothing is asked."""
        self._has_lost = False
        self._in_vain = 0  # questions, on end

    def lost(self) -> None:
        """Packets are lost, or marked."""
        self._has_lost = True

    def is_moment(self, base_psn: int) -> bool:
        """Whether to ask when this packet of the base channel comes."""
        return self._has_lost and base_psn % (EVERY << min(self._in_vain, MOST_DOUBLINGS)) == 0

    @property
    def is_on(self) -> bool:
        """Whether an answer is waited for."""
        return self.until < math.inf

    def ask(self, until: float) -> None:
        """The next wave has been joined."""
        self.until = until
        self._has_lost = False

    def end(self, *, answered: bool) -> None:
        """It flows to others, or nothing has come of it."""
        self.until = math.inf
        self._in_vain = 0 if answered else self._in_vain + 1
