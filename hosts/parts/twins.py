"""Requests that switches may drop, and whether they drop more than they may (docs/security.md).

Where a switch passes a request on when it asks for more than others have, and drops it when not, nothing that it says
contradicts anybody. So some of a member's requests have a twin in a sealed session: a packet that says the same, right
behind the one that switches may judge, and that they cannot read. The sender does what a twin says, as it does what
others say, and looks for what its brother has said: the brother has come, or one that asks for more has, of whomever.
If that fails three times running, a switch drops what it must pass on. Then switches are asked for nothing more.

As many may ask at once, and most hear that somebody asked for more, a twin is of who has asked in vain twice. Who
limits the rate, and is heard without switches' leave, asks as well, for its twins. All this is ours.
"""

from collections import deque
from collections.abc import Callable, Hashable
from math import inf
from typing import Final, Generic, TypeVar

from hosts.endpoint import Address, Effect, PeerMisquoted

IN_VAIN: Final = 2
"""Requests that were not answered before the one that has a twin."""
REQUESTS: Final = 4
"""Of who limits the rate, for each twin: so many are not lost by accident."""
MISSES: Final = 3
"""Twins running of which nothing was heard: a switch has dropped their brothers."""
MEMORY_S: Final = 0.5
"""What was heard so long and two round trips before a twin may be why a switch has dropped its brother."""
MOST_HEARD: Final = 64
MOST_TOPICS: Final = 256
MOST_PEERS: Final = 4096
"""Of which is known how many twins were alone."""

RequestT = TypeVar("RequestT")


class Twins(Generic[RequestT]):
    """One member's. Times are seconds on its clock."""

    def __init__(self, assist: str, sample_s: float, twin_of: Callable[[RequestT], RequestT]) -> None:
        """`assist`, `sample_s`: as a protocol's options have them. Between two twins are so many seconds at least; 0,
        or no switches that help: there are none, and nothing is said twice."""
        self._period_s = sample_s if assist == "switch" else 0.0
        self._twin_of = twin_of
        self._at = -inf  # the next twin
        self._check_at = -inf
        self._in_vain = 0

    def request(self, one: RequestT, now: float, *, passes: bool = False) -> list[RequestT]:
        """`one`, which switches may judge, and its twin if it has one: if others like it have not been answered.
        `passes`: switches must not drop it, whatever others say."""
        in_vain, self._in_vain = self._in_vain, self._in_vain + 1
        if not self._period_s or now < self._at or not (passes or in_vain >= IN_VAIN):
            return [one]
        self._at = now + self._period_s
        return [one, self._twin_of(one)]

    def answered(self) -> None:
        """There is nothing to ask for any more, or something else."""
        self._in_vain = 0

    def checks(self, one: RequestT, now: float) -> list[RequestT]:
        """What a member asks for that limits the rate, and does what it asks for: `one`, which switches may judge, now
        and then, and a twin of some."""
        if not self._period_s or now < self._check_at:
            return []
        self._check_at = now + self._period_s / REQUESTS
        return self.request(one, now, passes=True)


class Audit:
    """A sender's. Times are seconds on its clock."""

    def __init__(self) -> None:
        self._heard: dict[Hashable, deque[tuple[float, float]]] = {}
        self._alone: dict[tuple[Address, str], int] = {}
        self.misquoted: list[Address] = []
        """Whose requests were dropped: a switch between them and the sender does so. Empty: none does."""

    def told(
        self,
        kind: str,
        about: Hashable,
        value: float,
        source: Address,
        trip: float,
        now: float,
        *,
        may_suppress: bool,
        is_twin: bool,
    ) -> list[Effect]:
        """A request has come, that switches could judge (`heard`), a twin of such a one (`is_alone`), or neither; what
        is to be done if it shows that a switch drops what it must not."""
        if may_suppress:
            self.heard(kind, about, value, now)
        elif is_twin:
            return self.is_alone(kind, about, value, source, trip, now)
        return []

    def heard(self, kind: str, about: Hashable, value: float, now: float) -> None:
        """A request that switches could judge has come: of a kind and about something, with `value`, the less the more
        it asks for. What asked for less, and came before, is no reason for anything that this one is not."""
        heard = self._heard.setdefault((kind, about), deque(maxlen=MOST_HEARD))
        while heard and heard[-1][1] >= value:
            heard.pop()
        heard.append((now, value))
        if len(self._heard) > MOST_TOPICS:
            del self._heard[next(iter(self._heard))]

    def is_alone(
        self, kind: str, about: Hashable, value: float, source: Address, trip: float, now: float
    ) -> list[Effect]:
        """A twin of such a request has come; `trip`: for how long one silences others. What is to be done if it shows
        that a switch drops what it must not."""
        since = now - MEMORY_S - 2 * trip
        if any(at >= since and heard <= value for at, heard in self._heard.get((kind, about), ())):
            self._alone.pop((source, kind), None)
            return []
        if len(self._alone) >= MOST_PEERS:
            self._alone.clear()
        alone = self._alone[source, kind] = self._alone.get((source, kind), 0) + 1
        if alone < MISSES or self.misquoted:
            return []
        self.misquoted.append(source)
        return [PeerMisquoted(source)]

    @property
    def row(self) -> dict[str, object]:
        """What a status shows of it."""
        return {"misquoted": [str(peer) for peer in self.misquoted]} if self.misquoted else {}
