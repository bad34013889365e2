"""Slots: which (source, group) or (*, group) holds which of the data plane's membership slots.

A slot is an index into the switches' membership registers and counters; a group has the same slot on every switch.
There are 4,096 of them and hosts ask for them by joining, so each port has a quota: a host that joins thousands of
groups fills its own and nobody else's. Slots that nobody is a member of are given back after a while. A slot that was
given back rests before it serves another group, until the registers have forgotten the former members.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import NamedTuple

from controller.trees import Attachment

NUM_SLOTS = 4096  # size of the program's membership register


class GroupKey(NamedTuple):
    """(source, group) of a source-specific slot, (None, group) of an any-source one."""

    source: IPv4Address | None
    group: IPv4Address

    def __str__(self) -> str:
        return f"({self.source or '*'}, {self.group})"


class SlotRefused(Exception):  # noqa: N818 - an answer, not a defect
    """No slot for this group now. The message is for the operator's event log."""


@dataclass
class Slot:
    """A slot in use. A pinned one belongs to a known session and stays; `owner` is the port whose quota it counts for.
    `idle_since` is None while the group has members. Times are in seconds on the caller's monotonic clock."""

    index: int
    key: GroupKey
    pinned: bool = False
    owner: Attachment | None = None
    idle_since: float | None = None


class SlotTable:
    """Slots by index and by key.

    `quota` is how many slots one port may hold by joining unknown groups, `rest_s` how long a slot rests after its
    release, `idle_s` after which an unpinned slot without members is released by `expire`.
    """

    def __init__(self, *, size: int = NUM_SLOTS, quota: int = 256, rest_s: float, idle_s: float) -> None:
        self._size = size
        self._quota = quota
        self._rest_s = rest_s
        self._idle_s = max(idle_s, rest_s)
        self._by_key: dict[GroupKey, Slot] = {}
        self._by_index: dict[int, Slot] = {}
        self._owned: dict[Attachment, int] = {}
        self._free = list(range(size))  # sorted: the lowest goes first, so a restart comes to the same slots
        self._resting: deque[tuple[float, int]] = deque()
        self._given_up: list[Slot] = []

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Slot]:
        return iter(sorted(self._by_key.values(), key=lambda slot: slot.index))

    def get(self, key: GroupKey) -> Slot | None:
        """The slot of a group, if it has one."""
        return self._by_key.get(key)

    def at(self, index: int) -> Slot | None:
        """The group that holds a slot, if one does."""
        return self._by_index.get(index)

    def held_by(self, owner: Attachment) -> int:
        """How many slots count for a port's quota."""
        return self._owned.get(owner, 0)

    def pin(self, key: GroupKey, now: float) -> Slot:
        """The slot of a known session, which no quota limits. Raises SlotRefused when there is none left."""
        slot = self._by_key.get(key)
        if slot is None:
            return self._take(Slot(self._next_index(now), key, pinned=True, idle_since=now))
        self._disown(slot)
        slot.pinned = True
        return slot

    def adopt(self, index: int, key: GroupKey, now: float) -> bool:
        """Take over what a switch has from a controller before this one. False when it contradicts this table."""
        slot = self._by_key.get(key)
        if slot is not None or index in self._by_index:
            return slot is not None and slot.index == index
        place = bisect.bisect_left(self._free, index)
        if self._free[place : place + 1] != [index]:
            return False
        del self._free[place]
        self._take(Slot(index, key, idle_since=now))
        return True

    def request(self, key: GroupKey, owner: Attachment, now: float) -> Slot:
        """The slot of a group that a port joins; a new one when it has none. Raises SlotRefused when the port's quota
        or the table is used up by groups that have members."""
        slot = self._by_key.get(key)
        if slot is not None:
            return slot
        if self.held_by(owner) >= self._quota and not self._release_one(now, owner):
            raise SlotRefused(f"port {owner[1]} of {owner[0]} holds {self._quota} groups, its quota")
        return self._take(Slot(self._next_index(now), key, owner=owner, idle_since=now))

    def set_idle(self, slot: Slot, idle: bool, now: float) -> None:
        """Note whether a group has members. A call that changes nothing leaves the idle clock running."""
        if not idle:
            slot.idle_since = None
        elif slot.idle_since is None:
            slot.idle_since = now

    def charge(self, slot: Slot, owner: Attachment) -> None:
        """Count a slot without an owner (an adopted one) for the port that uses it."""
        if slot.owner is None and not slot.pinned:
            slot.owner = owner
            self._owned[owner] = self.held_by(owner) + 1

    def expire(self, now: float) -> list[Slot]:
        """Release the unpinned slots that have been without members for `idle_s`; they are returned."""
        expired = [slot for slot in self if self._idle_for(slot, now) >= self._idle_s]
        for slot in expired:
            self._release(slot, now)
        return expired

    def take_given_up(self) -> list[Slot]:
        """The slots that were released since the last call to make room for others: by `pin` or `request`, refused
        ones too."""
        given_up, self._given_up = self._given_up, []
        return given_up

    def _idle_for(self, slot: Slot, now: float) -> float:
        return -1.0 if slot.pinned or slot.idle_since is None else now - slot.idle_since

    def _release_one(self, now: float, owner: Attachment | None = None) -> bool:
        """Release the slot that has been idle longest (of `owner`'s, if given) and long enough for every switch to have
        forgotten its members. False when there is none."""
        candidates = [slot for slot in self if owner is None or slot.owner == owner]
        slot = max(candidates, key=lambda slot: self._idle_for(slot, now), default=None)
        if slot is None or self._idle_for(slot, now) < self._rest_s:
            return False
        self._release(slot, now)
        self._given_up.append(slot)
        return True

    def _next_index(self, now: float) -> int:
        while self._resting and self._resting[0][0] + self._rest_s <= now:
            bisect.insort(self._free, self._resting.popleft()[1])
        if not self._free:
            self._release_one(now)  # serves a later request, after its rest
            raise SlotRefused(f"all {self._size} group slots are in use or resting")
        return self._free.pop(0)

    def _take(self, slot: Slot) -> Slot:
        self._by_key[slot.key] = slot
        self._by_index[slot.index] = slot
        if slot.owner is not None:
            self._owned[slot.owner] = self.held_by(slot.owner) + 1
        return slot

    def _release(self, slot: Slot, now: float) -> None:
        del self._by_key[slot.key]
        del self._by_index[slot.index]
        self._disown(slot)
        self._resting.append((now, slot.index))

    def _disown(self, slot: Slot) -> None:
        if slot.owner is not None:
            self._owned[slot.owner] -= 1
            slot.owner = None
