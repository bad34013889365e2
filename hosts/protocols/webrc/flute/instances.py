"""FDT instances that were whole: which need not be read again, and what is believed of what they say."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from hosts.parts.doubt import FORGOTTEN_S, GRACE_S, SILENCE_S

MOST: Final = 4096
"""That are remembered (ours)."""
AGAIN_S: Final = FORGOTTEN_S
"""After which one is read again, for a stranger may have taken its number (ours: as long as a farewell is in doubt)."""
MOST_DOUBTED: Final = 16
"""Things that were said once (ours)."""
COMPLETE: Final = "complete"
"""That no file will follow: doubted until no instance has said otherwise for `SILENCE_S`, as a session's end is (ours).
In that time a sender says its own several times."""


class Instances:
    """Of one session. Times are the receiver's clock, seconds."""

    def __init__(self) -> None:
        self._until: OrderedDict[int, float] = OrderedDict()
        self._doubted: OrderedDict[Hashable, float] = OrderedDict()
        """When it was said first."""

    def is_read(self, number: int, now: float) -> bool:
        """Whether it still holds, and was read lately; beyond that the number may be another's (RFC 6726, 3.4.1)."""
        if now > self._until.get(number, -1.0):
            return False
        self.deny()
        return True

    def deny(self) -> None:
        """An instance that is believed is still said, or another does not say that no file will follow."""
        self._doubted.pop(COMPLETE, None)

    def read(self, number: int, until: float, now: float) -> None:
        """It is known now, and holds so long."""
        self._until[number] = min(until, now + AGAIN_S)
        if len(self._until) > MOST:
            self._until.popitem(last=False)

    def believes(self, number: int, what: Hashable, now: float) -> bool:
        """Whether an instance takes something away: anybody may have made it in an open session, so that is believed
        when it is said again after a while, as a farewell to one receiver is. Else it is read when it comes again."""
        if now - self._doubted.setdefault(what, now) >= (SILENCE_S if what == COMPLETE else GRACE_S):
            return True
        if len(self._doubted) > MOST_DOUBTED:
            self._doubted.popitem(last=False)
        self._until.pop(number, None)
        return False
