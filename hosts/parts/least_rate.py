"""The session's least rate: who keeps the session below it for long is sent away (TFMCC, 1: "application-specific
thresholds below which a receiver is compelled to leave").

What a session gets less than its least rate is owed, and paid back by what it gets more. When as much is owed as comes
in `least_rate_s`, somebody goes: who was to blame for most of that time. That is who last had the window made smaller,
or whom the sender waits for when nobody has lately.
"""

from collections.abc import Iterable
from math import inf
from typing import Final

from hosts.endpoint import Address, CongestionSignal, Effect

LOOK_S: Final = 0.25
"""How often it is looked at (ours)."""
MEMORY_S: Final = 2.0
"""For so long a window is small by who had it made smaller (ours: at a low rate it grows slowly, and meanwhile the
farthest receiver, who has done nothing, is the one that is waited for)."""


class LeastRate:
    """Of one sender. Times are seconds on its clock."""

    __slots__ = ("_blamed", "_done", "_least", "_looked_at", "_most", "_owed", "_signalled", "_signalled_at", "at")

    def __init__(self, least_bps: float, patience_s: float) -> None:
        """`least_bps`: 0 when the slowest is waited for."""
        self.at = inf
        """When `look` is due."""
        self._least = least_bps / 8
        self._most = self._least * patience_s
        self._owed = 0.0  # bytes
        self._done = 0
        self._looked_at = 0.0
        self._blamed: dict[Address, float] = {}  # seconds
        self._signalled: Address | None = None
        self._signalled_at = -inf

    def begin(self, now: float) -> None:
        """Data begin to flow."""
        if self._least:
            self._looked_at = now
            self.at = now + LOOK_S

    def note(self, effects: Iterable[Effect], now: float) -> None:
        """What the protocol has done: it says who had the window made smaller."""
        if self._least:
            for effect in effects:
                if isinstance(effect, CongestionSignal) and effect.peer is not None:
                    self._signalled, self._signalled_at = effect.peer, now

    def look(self, done: int, waited_for: Address | None, now: float) -> Address | None:
        """So many bytes have got on so far, and the sender waits for that receiver now; None: for none, it has nothing
        to send, or may not. Who is to be sent away."""
        elapsed, self._looked_at = now - self._looked_at, now
        self.at = now + LOOK_S
        self._owed -= max(0, done - self._done)
        self._done = done
        if waited_for is not None:
            self._owed += self._least * elapsed
            is_recent = self._signalled is not None and now - self._signalled_at <= MEMORY_S
            blamed = self._signalled if is_recent and self._signalled is not None else waited_for
            self._blamed[blamed] = self._blamed.get(blamed, 0.0) + elapsed
        if self._owed <= 0:
            self._forget()
        elif self._owed >= self._most and self._blamed:
            slowest = max(self._blamed, key=self._blamed.__getitem__)
            self._forget()
            return slowest
        return None

    def _forget(self) -> None:
        """Nothing is owed; who was sent away owes nothing any more, and the others need time to get on."""
        self._owed = 0.0
        self._blamed.clear()
        self._signalled = None
