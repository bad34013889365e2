"""Members: which switch ports the data plane serves for which group, as its digests tell.

The data plane keeps membership itself. This is the controller's picture of it: for showing, for giving slots back,
and for restoring a switch that lost its state or a tree that lost a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from controller.groups import GroupKey
from controller.trees import Attachment

Place = tuple[GroupKey, Attachment]
"""A group, and a port that is a member of it."""


@dataclass
class Member:
    """One port that is a member of one group. Times are seconds on the caller's monotonic clock."""

    key: GroupKey
    switch: str
    port: int
    since: float
    last_seen: float

    def to_json(self, now: float) -> dict[str, Any]:
        """For the API: ages instead of times."""
        return {
            "source": str(self.key.source) if self.key.source else None,
            "group": str(self.key.group),
            "switch": self.switch,
            "port": self.port,
            "age_s": round(now - self.since, 3),
            "last_seen_s": round(now - self.last_seen, 3),
        }


class MemberTable:
    """Members by group, switch and port. One that is not refreshed for `lifetime_s` is dropped by `expire`."""

    def __init__(self, lifetime_s: float) -> None:
        self.lifetime_s = lifetime_s
        self._groups: dict[GroupKey, dict[str, dict[int, Member]]] = {}
        self._by_age: dict[Place, Member] = {}  # the one that was silent longest first
        self.changes = 0
        """How often a port has become a member or ceased to be one."""

    def __len__(self) -> int:
        return len(self._by_age)

    def __iter__(self) -> Iterator[Member]:
        yield from sorted(self._by_age.values(), key=_in_order)

    def seen(self, key: GroupKey, where: Attachment, now: float) -> bool:
        """A join or a refresh. True when the port was not a member before."""
        member = self._by_age.pop((key, where), None)
        is_new = member is None
        if member is None:
            member = Member(key, where[0], where[1], now, now)
            self._groups.setdefault(key, {}).setdefault(where[0], {})[where[1]] = member
            self.changes += 1
        member.last_seen = now
        self._by_age[key, where] = member
        return is_new

    def gone(self, key: GroupKey, where: Attachment) -> bool:
        """A leave or an expiry. True when the port was a member."""
        if self._by_age.pop((key, where), None) is None:
            return False
        self.changes += 1
        switches = self._groups[key]
        del switches[where[0]][where[1]]
        if not switches[where[0]]:
            del switches[where[0]]
        if not switches:
            del self._groups[key]
        return True

    def places(self) -> list[Place]:
        """Who is a member where."""
        return list(self._by_age)

    def any_of(self, key: GroupKey) -> bool:
        """Whether a group has members."""
        return key in self._groups

    def ports(self, key: GroupKey) -> frozenset[Attachment]:
        """The member ports of a group, those between switches included."""
        return frozenset((switch, port) for switch, ports in self._groups.get(key, {}).items() for port in ports)

    def ports_on(self, key: GroupKey, switch: str) -> frozenset[int]:
        """Those of one switch."""
        return frozenset(self._groups.get(key, {}).get(switch, ()))

    def drop_group(self, key: GroupKey) -> None:
        """Forget a group whose slot was given back."""
        for where in self.ports(key):
            self.gone(key, where)

    def expire(self, now: float) -> list[Member]:
        """Drop the members that were silent for too long; they are returned."""
        expired = list(takewhile(lambda member: now - member.last_seen >= self.lifetime_s, self._by_age.values()))
        for member in expired:
            self.gone(member.key, (member.switch, member.port))
        return sorted(expired, key=_in_order)


def _in_order(member: Member) -> tuple[str, str, int]:
    return str(member.key), member.switch, member.port
