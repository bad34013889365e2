"""A new CLR is on trial until it answers a packet that names it (ours; rules: today).

Anybody in the group can ask once for a low rate and be gone. The cut is made at once all the same; when no answer comes
for some feedback delays of the rate before, the CLR and the rate before are there again, and who did not answer is not
listened to for a while.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from hosts.protocols.tfmcc.limiting import Limiting

UNHEARD_PATIENCES: Final = 10.0
"""A receiver that did not answer is not listened to for so many times what an answer may take (ours)."""
UNHEARD: Final = 1024
"""Such receivers that are remembered, at most; the oldest is forgotten first (ours)."""


@dataclass(slots=True)
class Standing:
    """What was in force before. Bytes per second; seconds."""

    clr: Limiting | None
    rate: float
    slowstart: bool
    patience: float
    """How long an answer may take: some feedback delays of that rate, not of the one that the new CLR caused."""


class Trials:
    """At most one trial at a time: who takes the rate down further takes over, and what stood before it all stays."""

    __slots__ = ("_named_at", "_unheard", "before", "receiver")

    def __init__(self) -> None:
        self.before: Standing | None = None
        """None: nobody is on trial."""
        self.receiver = 0
        self._named_at: float | None = None
        self._unheard: OrderedDict[int, float] = OrderedDict()

    def begin(self, receiver: int, before: Standing) -> None:
        """`receiver` becomes the CLR."""
        if self.before is None:
            self.before = before
        elif self.before.clr is not None and self.before.clr.receiver == receiver:
            self.before = None  # the one before is there again: it has answered once
            return
        self.receiver = receiver
        self._named_at = None

    def named(self, now: float) -> None:
        """A packet that names the CLR leaves."""
        if self._named_at is None:
            self._named_at = now

    def answered(self, receiver: int, sent_at: float) -> None:
        """A report as the CLR, to a packet that left at `sent_at`."""
        if self.before is None:
            return
        if receiver == self.receiver and self._named_at is not None and sent_at >= self._named_at - 1e-5:
            self.before = None

    def heard(self, limiting: Limiting) -> None:
        """A report of another: what the CLR before says now is what comes back."""
        before = self.before
        if before is not None and before.clr is not None and before.clr.receiver == limiting.receiver:
            before.clr = limiting

    def gone(self, receiver: int) -> None:
        """A receiver has left."""
        if self.before is not None and self.before.clr is not None and self.before.clr.receiver == receiver:
            self.before.clr = None

    def is_lost(self, now: float) -> bool:
        """Whether the answer should be here by now."""
        if self.before is None or self._named_at is None:
            return False
        return now > self._named_at + self.before.patience

    def lose(self, now: float) -> Standing:
        """The receiver did not answer: what is to be restored."""
        assert self.before is not None
        before, self.before = self.before, None
        self._unheard.pop(self.receiver, None)
        while len(self._unheard) >= UNHEARD:
            self._unheard.popitem(last=False)
        self._unheard[self.receiver] = now + UNHEARD_PATIENCES * before.patience
        return before

    def is_unheard(self, receiver: int, now: float) -> bool:
        """Whether a receiver did not answer lately."""
        if not self._unheard:
            return False
        until = self._unheard.get(receiver)
        if until is None:
            return False
        if now < until:
            return True
        del self._unheard[receiver]
        return False
