"""A group's epochs that follow each other: which secrets open packets at a time, and which one seals.

A new epoch is opened by everybody `LEAD_S` before anybody seals with it, and the one before is opened for `OVERLAP_S`
longer, so that a roll loses no packet of who hears of it in time. There are never more than two.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from hosts.security.keys import MOST_EPOCH, SECRET_BYTES, KeysError

LEAD_S: Final = 3.0
"""From when members are told of an epoch until they seal with it (ours): a lost segment of TCP is repeated after 1 s,
and once more after 2 s (RFC 6298)."""
OVERLAP_S: Final = 5.0
"""So long an epoch is opened after the next one seals (ours): who has no connection to the registrar finds out by the
first packet of the new epoch."""
KEPT: Final = 2
"""Epochs that are open at a time."""


class Epoch(NamedTuple):
    """Times are of the clock of whoever has it."""

    serial: int
    """Counts a group's epochs from 1, and never goes back."""
    secret: bytes
    seals_at: float
    """From then on it seals, until a later one does."""
    closes_at: float = math.inf
    """What is sealed with it is opened until then."""

    @property
    def number(self) -> int:
        """In packets: 8 bits, without 0."""
        return (self.serial - 1) % MOST_EPOCH + 1


class Schedule:
    """A group's epochs, the newest last, as far as they are known."""

    def __init__(self, epochs: Sequence[Epoch]) -> None:
        """KeysError: they do not follow each other, or the newest closes."""
        serials = [epoch.serial for epoch in epochs]
        if not 1 <= len(epochs) <= KEPT or min(serials) < 1 or serials != sorted(set(serials)):
            raise KeysError("epochs do not follow each other")
        if any(len(epoch.secret) != SECRET_BYTES for epoch in epochs) or epochs[-1].closes_at != math.inf:
            raise KeysError("an epoch has no secret, or the newest one an end")
        if len({epoch.number for epoch in epochs}) < len(epochs):
            raise KeysError("epochs of a group have different numbers")
        if any(math.isnan(time) for epoch in epochs for time in epoch[2:]):
            raise KeysError("an epoch's time is no number")
        self.epochs: Final = tuple(epochs)

    def __repr__(self) -> str:
        return f"Schedule(epochs {[epoch.serial for epoch in self.epochs]})"  # secrets are for no log

    @property
    def newest(self) -> Epoch:
        """The last one so far."""
        return self.epochs[-1]

    def at(self, now: float) -> tuple[tuple[int, bytes], ...]:
        """Numbers and secrets of what opens, of which the last one seals."""
        alive = [epoch for epoch in self.epochs if now < epoch.closes_at]
        sealing = max((epoch for epoch in alive if epoch.seals_at <= now), default=alive[0])
        return tuple((one.number, one.secret) for one in (*(e for e in alive if e is not sealing), sealing))

    def next_at(self, now: float) -> float | None:
        """When `at` changes."""
        times = (time for epoch in self.epochs for time in (epoch.seals_at, epoch.closes_at))
        return min((time for time in times if now < time < math.inf), default=None)

    def rolled(self, secret: bytes, now: float) -> "Schedule":
        """With one more epoch. KeysError: the last roll is not over."""
        if self.next_at(now) is not None:
            raise KeysError("the last roll is not over")
        old = self.newest
        seals_at = now + LEAD_S
        new = Epoch(old.serial + 1, secret, seals_at)
        return Schedule([old._replace(closes_at=seals_at + OVERLAP_S), new])
