"""Whether somebody else keeps the bottleneck's queue filled, so that a window that backs off from queues would get
nothing there.

The question is Copa's (Arun and Balakrishnan 2018, 4): has the queue nearly emptied in the last few round trips? A
window whose own packets are the queue answers it by a drain: it takes them out for two round trips, as BBR's ProbeRTT
and LEDBAT++'s slowdowns do. If the queue then is short, nobody else fills it; the delay without one has been seen, too.
Nimbus (Goyal et al. 2022) asks by pulses of the rate, which takes seconds and a known capacity.
"""

from math import inf
from typing import Final

FILLED_ROUNDS: Final = 4
"""Round trips on end with a queue that make one ask (ours; Copa's is five of its own oscillations)."""
DRAIN_ROUNDS: Final = 2
"""In the first the queue empties, in the second what is sent meanwhile is acknowledged."""
PERIOD_S: Final = 5.0
"""Between drains: BBR's ProbeRTTInterval."""
PERIOD_ROUNDS: Final = 15
"""And at least so many round trips, for drains are to take little of long ones, too (ours)."""
SIGNALLED_PERIODS: Final = 2
"""Times as long as between two drains, 10 s or 30 round trips, a loss or a mark counts (ours): one drain may come just
after it, and the next one shows whether others are still there."""
BESIDE_OTHERS: Final = 2
"""Times as long beside others, of whose queue a drain gives a part away (ours; BBR v1's ProbeRTT is every 10 s)."""


def period_s(rtt_s: float) -> float:
    """Between two drains of a window that is alone, with such a round trip."""
    return max(PERIOD_S, PERIOD_ROUNDS * rtt_s)


class Company:
    """Its owner says when a round trip has ended, and drains the queue for as long as `draining`."""

    __slots__ = ("_asks_at", "_filled", "_left", "_recurs", "_signalled_until", "_suspected_at", "present")

    def __init__(self) -> None:
        self.present = False
        """Somebody fills the queue."""
        self._filled = 0  # round trips on end
        self._left = 0  # of a drain
        self._asks_at: float | None = None
        self._suspected_at = -inf  # when the queue was last filled for long
        self._recurs = False  # it was so not long before
        self._signalled_until = -inf  # a mark or losses count for so long

    @property
    def draining(self) -> bool:
        """The window is to be what the path holds without a queue, or a little less."""
        return self._left > 0

    def round_trip_ended(self, waiting_s: float, short_s: float, rtt_s: float, now: float) -> None:
        """In this round trip packets waited in queues for at least `waiting_s`; up to `short_s` is a short queue."""
        short = waiting_s <= short_s
        if self._left:
            self._left -= 1
            if self._left:
                return
            # A TCP that empties a small queue by its own losses may do so just now; but it fills it again and again,
            # and nobody who is alone does.
            if self.present:
                self._suspected_at = now
            self.present = not short or self._recurs or now < self._signalled_until
            self._recurs = False
            self._wait(rtt_s, now)
        elif self._asks_at is None:
            self._wait(rtt_s, now)
        else:
            self._filled = 0 if short else self._filled + 1
            if self._filled >= FILLED_ROUNDS and not self.present:
                self._recurs = now - self._suspected_at <= period_s(rtt_s)
                self._suspected_at = now
                self._left = DRAIN_ROUNDS
            elif now >= self._asks_at:
                self._left = DRAIN_ROUNDS

    def signalled(self, rtt_s: float, now: float) -> None:
        """A mark, or losses that are too many to be links' own: whoever keeps the queue short and is alone meets none,
        and queue management or a queue of few packets shows others by nothing else. Counts over two drains.
        """
        self.present = True
        self._signalled_until = now + SIGNALLED_PERIODS * period_s(rtt_s)

    def _wait(self, rtt_s: float, now: float) -> None:
        self._filled = 0
        self._asks_at = now + (BESIDE_OTHERS if self.present else 1) * period_s(rtt_s)

    def forget(self) -> None:
        """The window has begun anew: there is no queue of its own to be drained."""
        self._left = self._filled = 0
        self._recurs = False


class FollowedCompany(Company):
    """The same question where another host drains the queue, and says so: of who only watches what it sends."""

    __slots__ = ("_least", "_told", "_told_present", "_was_filled")

    def __init__(self) -> None:
        super().__init__()
        self._told = self._told_present = False
        self._least = inf  # wait in this drain
        self._was_filled = False  # since the last one

    def tell(self, draining: bool, present: bool) -> None:
        """Whether the newest packet was sent in a drain, and whether there was somebody else in the other's queue."""
        self._told, self._told_present = draining, present
        if draining:
            self._left = 1

    def round_trip_ended(self, waiting_s: float, short_s: float, rtt_s: float, now: float) -> None:
        """As a Company's. Within a drain the least wait of all its round trips counts."""
        short = waiting_s <= short_s
        if not self._left:
            self._filled = 0 if short else self._filled + 1
            self._was_filled |= self._filled >= FILLED_ROUNDS
            return
        self._least = min(self._least, waiting_s)
        if not self._told:
            # A queue that was filled beside one who has company is most likely that one's.
            filled = self._least > short_s or (self._told_present and self._was_filled)
            self.present = filled or now < self._signalled_until
            self._left = self._filled = 0
            self._was_filled = False
            self._least = inf

    def forget(self) -> None:
        """The window has begun anew; whether the other one drains has nothing to do with it."""
