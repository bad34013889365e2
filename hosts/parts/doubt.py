"""A farewell in somebody's name, which is believed when what follows agrees with it: nobody may be who it says (ours).

That a session is over is believed of who then says nothing more. What is said to one alone, who may hear the session go
on, is believed when it is said again after a while, as every answer to who is no member does.
"""

from math import inf
from typing import Final, Generic, TypeVar

SILENCE_S: Final = 1.5
"""After its farewell nothing has come for so long (ours: more than the 1 s after which an idle MTCP sender announces
itself, or the longest heartbeat of the others)."""
GRACE_S: Final = 0.25
"""What comes so soon after a farewell may have left before it, or be its repeat (ours)."""
FORGOTTEN_S: Final = 30.0
"""A farewell that was contradicted is no first one of two any more (ours: as long as silence ends a session)."""

What = TypeVar("What")


class Doubt(Generic[What]):
    """Times are seconds on one's own clock."""

    __slots__ = ("_said_at", "_to_one", "wake_at", "what")

    def __init__(self) -> None:
        self.what: What | None = None
        """The farewell that was heard."""
        self.wake_at = inf
        """When `believed` is to be asked."""
        self._said_at = -inf
        self._to_one = False

    def said(self, what: What, now: float, *, to_one: bool) -> What | None:
        """A farewell has come. The first one, if that is believed now: it says why, what is said again may not."""
        again = now - self._said_at
        if to_one and self._to_one and GRACE_S <= again <= FORGOTTEN_S:
            return self.what
        if self.wake_at == inf and not (to_one and again <= FORGOTTEN_S):
            self.what = what
            self._said_at = now
            self._to_one = to_one
            self.wake_at = now + (GRACE_S if to_one else SILENCE_S)
        return None

    def is_open(self, now: float) -> bool:
        """Whether one alone has been told, not long ago."""
        return self._to_one and now - self._said_at <= FORGOTTEN_S

    def believed(self, heard_at: float, now: float) -> What | None:
        """Whoever said it was last heard at `heard_at`. The farewell, if that agrees with it; it is forgotten else. Who
        was told alone (`is_open`) asks whether it is so, by saying anything."""
        if now < self.wake_at:
            return None
        if now < self._said_at + SILENCE_S:
            self.wake_at = self._said_at + SILENCE_S
            return None
        self.wake_at = inf
        if heard_at > self._said_at + GRACE_S:
            if not self._to_one:
                self.what = None
            return None
        return self.what
