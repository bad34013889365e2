"""A receiver's rtt, from one exchange with the sender and the delays of data packets after it (VLMCC, 2.3, Eqs. (4)
and (5)).

Eq. (5) adds up: from packet to packet the rtt changes by how much longer the later one was under way. So rtt is the
way back as the sender's answer (VLMCC's START, Arbor's WELCOME) has told it, and the delay of the last data packet;
whatever was lost in between, and whatever happens on the way back. Both contain the two clocks' offset, which cancels,
and their drift, which is taken out: a clock that runs fast shows in both directions, with opposite signs, a queue that
builds up in one of them only.
"""

from collections import deque
from math import inf
from typing import Final

from hosts.parts.base_delay import WINDOW_S, BaseDelay
from hosts.parts.skew import ClockSkew

BUCKET_S: Final = 5.0
"""The least delay of so much time stands for all (ours)."""
BUCKETS: Final = 360
"""Half an hour of them: what base_rtt is the least of, where the paper knows no drift (ours)."""
STARTS: Final = 16
"""STARTs whose way back is compared (ours)."""
LEAST_RTT_S: Final = 1e-6
COMPANY_WINDOW_S: Final = 30.0
"""While others fill the queue, which drains do not empty then, the base delay is remembered for so long (ours); and so
long after they were seen last, for what is forgotten in a moment's doubt does not come back beside them."""
BASE_ROUNDS: Final = 30
"""Round trips within which a base delay that is learnt again is looked for at least: two drains' (ours)."""
LONGER: Final = 1 / 8
"""Of the round trip: a way that has become longer by so much is another one (ours)."""
LEAST_LONGER_S: Final = 0.002
"""And by at least so much (ours)."""


class Path:
    """Delays are seconds with the clocks' offset in them; times are the receiver's."""

    __slots__ = (
        "_back",
        "_base",
        "_beside_others",
        "_beside_until",
        "_bucket",
        "_bucket_at",
        "_bucket_ends",
        "_clocks",
        "_company_began",
        "_forward",
        "_least",
        "_lines",
        "_recent",
        "_recent_at_start",
        "_starts",
        "drift",
    )

    def __init__(self, *, learns_again: bool = False) -> None:
        """`learns_again`: base_rtt is the least of the last while, and not of half an hour."""
        self._base = BaseDelay() if learns_again else None
        self._recent = BaseDelay() if learns_again else None  # of the shortest while
        self._recent_at_start: float | None = None
        self._beside_others = False
        self._beside_until = -inf
        self._company_began = False  # since the last START
        self.drift = 0.0
        """Seconds that the sender's clock gains on ours in one."""
        self._clocks = (ClockSkew(), ClockSkew())  # the sender's by the way back, ours by the way here
        self._starts: deque[tuple[float, float]] = deque(maxlen=STARTS)
        self._forward: deque[tuple[float, float]] = deque(maxlen=BUCKETS)
        self._bucket = inf  # least delay in the current bucket, and when that was
        self._bucket_at = 0.0
        self._bucket_ends = inf
        self._back = 0.0  # least delay of the way back, and of the way here, at the time of `_lines`
        self._least = inf
        self._lines = 0.0

    @property
    def is_known(self) -> bool:
        """Whether a START has come."""
        return bool(self._starts)

    def started(self, now: float, back: float) -> None:
        """A START: the way back took `back`, sender's clock less ours."""
        if self._recent is not None:
            if self._starts and self._is_more(back - self._back - self.drift * (now - self._lines)):
                self._starts.clear()  # they went by another way
                self._clocks[0].restart(now)
            self._recent_at_start = self._recent.least
            self._company_began = False
        self._starts.append((now, back))
        self._clocks[0].add(now, back)
        self._draw(now)

    def arrived(self, now: float, here: float) -> None:
        """A data packet took `here`, our clock less the sender's."""
        if now >= self._bucket_ends:
            self._forward.append((self._bucket_at, self._bucket))
            self._clocks[1].add(self._bucket_at, self._bucket)
            self._bucket_ends = inf
            self._draw(now)
        if self._bucket_ends == inf:
            self._bucket = inf
            self._bucket_ends = now + BUCKET_S
        if here < self._bucket:
            self._bucket, self._bucket_at = here, now
        if self._base is not None and self._recent is not None:
            self._base.add(here, now)
            self._recent.add(here, now)
        self._least = min(self._least, here + self.drift * (now - self._lines))

    def rtt(self, now: float, here: float) -> float:
        """Eq. (4), after a data packet that took `here`."""
        return max(LEAST_RTT_S, here + self._back + self.drift * (now - self._lines))

    def waiting(self, now: float, here: float) -> float:
        """For how long a data packet waited that took `here`: more than the least of the last while."""
        base = self._base
        return 0.0 if base is None else max(0.0, here + self.drift * (now - base.least_at) - base.least)

    @property
    def base_rtt(self) -> float:
        """The least rtt; infinite before data."""
        base = self._base
        if base is not None:
            return max(LEAST_RTT_S, base.least + self._back + self.drift * (base.least_at - self._lines))
        return max(LEAST_RTT_S, self._least + self._back)

    def note_company(self, present: bool, now: float) -> None:
        """Whether somebody else fills the queue."""
        if present:
            self._beside_until = now + COMPANY_WINDOW_S
        if present != self._beside_others:
            self._beside_others = present
            self._company_began |= present
            self._remember(now)

    def _remember(self, now: float) -> None:
        if self._base is not None and self._recent is not None:
            rounds_s = BASE_ROUNDS * self.base_rtt if self._starts and self._base.least < inf else 0.0
            self._base.window_s = max(COMPANY_WINDOW_S if now < self._beside_until else WINDOW_S, rounds_s)
            self._recent.window_s = max(WINDOW_S, rounds_s)

    @property
    def may_be_longer(self) -> bool:
        """Whether the way here has changed since the last START, so that the way back may be longer, too: packets
        begin to wait for as long as if others filled the queue, or the least of the last while has grown.
        """
        recent, before = self._recent, self._recent_at_start
        if recent is None or before is None or not self._starts:
            return False
        return self._company_began or self._is_more(recent.least - before)

    def _is_more(self, delay_s: float) -> bool:
        return delay_s > max(LEAST_LONGER_S, LONGER * self.base_rtt)

    def _draw(self, now: float) -> None:
        """The least delays, as they would be now."""
        self._remember(now)
        back, here = self._clocks[0].slope, -self._clocks[1].slope
        drift = self.drift = min(back, here, key=abs) if back * here > 0 else 0.0
        self._lines = now
        # The sender's clock being ahead lengthens what is seen of the way back, and shortens that of the way here.
        self._back = min((back + drift * (now - at) for at, back in self._starts), default=0.0)
        forward = (here - drift * (now - at) for at, here in self._forward)
        current = self._bucket - drift * (now - self._bucket_at)
        self._least = min(current, min(forward, default=inf))
