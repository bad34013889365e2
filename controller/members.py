"""Members: which switch ports the data plane serves for which group, as its digests tell.

The data plane keeps membership itself. This is the controller's picture of it: for showing, for giving slots back,
and for restoring a switch that lost its state or a tree that lost a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controller.groups import GroupKey
from controller.trees import Attachment


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
    """Members by group and port. One that is not refreshed for `lifetime_s` is dropped by `expire`."""

    def __init__(self, lifetime_s: float) -> None:
        self.lifetime_s = lifetime_s
        self._groups: dict[GroupKey, dict[Attachment, Member]] = {}

    def __len__(self) -> int:
        return sum(len(members) for members in self._groups.values())

    def __iter__(self) -> Iterator[Member]:
        for key in sorted(self._groups, key=str):
            yield from sorted(self._groups[key].values(), key=lambda member: (member.switch, member.port))

    def seen(self, key: GroupKey, where: Attachment, now: float) -> bool:
        """A join or a refresh. True when the port was not a member before."""
        members = self._groups.setdefault(key, {})
        member = members.get(where)
        if member is not None:
            member.last_seen = now
            return False
        members[where] = Member(key, where[0], where[1], now, now)
        return True

    def gone(self, key: GroupKey, where: Attachment) -> bool:
        """A leave or an expiry. True when the port was a member."""
        members = self._groups.get(key, {})
        if members.pop(where, None) is None:
            return False
        if not members:
            del self._groups[key]
        return True

    def ports(self, key: GroupKey) -> frozenset[Attachment]:
        """The member ports of a group, those between switches included."""
        return frozenset(self._groups.get(key, ()))

    def drop_group(self, key: GroupKey) -> None:
        """Forget a group whose slot was given back."""
        self._groups.pop(key, None)

    def expire(self, now: float) -> list[Member]:
        """Drop the members that were silent for too long; they are returned."""
        expired = [member for member in self if now - member.last_seen >= self.lifetime_s]
        for member in expired:
            self.gone(member.key, (member.switch, member.port))
        return expired
