"""Leaves that take effect late, as with a router that first asks whether the group has other members (RFC 3376, 6.4.2),
or without any leave until a membership expires. A simulated switch or router forgets a member at once; here the host's
report waits instead, which is the same to everybody but the host's own link, where it is one more way there."""

from collections.abc import Iterable
from typing import TypeAlias

from hosts.application import NetworkEffect
from hosts.endpoint import Address, JoinGroup, LeaveGroup

Subscription: TypeAlias = tuple[Address, str | None]


class LateLeaves:
    """Those of one program. Times are the network's, seconds."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s
        self._due: dict[Subscription, float] = {}
        """In the order of time, as all wait for as long."""

    def hold(self, effects: Iterable[NetworkEffect], now: float) -> list[NetworkEffect]:
        """The effects without the leaves, which wait, and without joins of what has not been left yet."""
        passed: list[NetworkEffect] = []
        for effect in effects:
            if isinstance(effect, LeaveGroup):
                self._due[(effect.group, effect.source)] = now + self._latency_s
            elif isinstance(effect, JoinGroup) and (effect.group, effect.source) in self._due:
                del self._due[(effect.group, effect.source)]
            else:
                passed.append(effect)
        return passed

    def take_due(self, now: float) -> list[NetworkEffect]:
        """The leaves whose time has come."""
        found: list[NetworkEffect] = []
        while (at := self.next_at) is not None and at <= now:
            group, source = next(iter(self._due))
            del self._due[(group, source)]
            found.append(LeaveGroup(group, source))
        return found

    @property
    def next_at(self) -> float | None:
        """When the next leave is due."""
        return next(iter(self._due.values()), None)
