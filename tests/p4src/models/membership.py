"""What the P4 program promises about one slot's members, said in the plainest way: sets and times, no bitmaps.

The registers of membership.p4 and upstream.p4 rotate and mask; this model only remembers when each port last reported.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Change:
    """A members_changed digest: kind, ports that it is about, all members after it."""

    kind: str
    ports: frozenset[int]
    members: frozenset[int]


@dataclass
class SlotModel:
    """One slot of a switch; `upstream` are its ports towards others that must hear of members."""

    upstream: frozenset[int]
    epoch_us: int
    _reported_us: dict[int, int] = field(default_factory=dict)  # port -> time of its last join, unless it left
    _told: set[tuple[int, int]] = field(default_factory=set)  # (tick, upstream port) that got a join
    _seen: set[tuple[int, int]] = field(default_factory=set)  # (tick, port) that joined in it
    _written_epoch: int = 0  # when ports that expired were last forgotten

    def members(self, now_us: int) -> frozenset[int]:
        """Ports that reported in this epoch or the one before."""
        epoch = now_us // self.epoch_us
        return frozenset(port for port, time in self._reported_us.items() if epoch - time // self.epoch_us <= 1)

    def _hears(self, members: frozenset[int]) -> frozenset[int]:
        """Upstream ports for which there is a member on another port."""
        return frozenset(port for port in self.upstream if members - {port})

    def join(self, port: int, now_us: int) -> tuple[Change | None, frozenset[int]]:
        """The digest, and the upstream ports that get a join."""
        tick = now_us * 4 // self.epoch_us
        before = self.members(now_us)
        self._forget(now_us)
        self._reported_us[port] = now_us
        after = self.members(now_us)
        refreshed = frozenset(up for up in self.upstream - {port} if (tick, up) not in self._told)
        told = (self._hears(after) - self._hears(before)) | refreshed
        self._told |= {(tick, up) for up in told}
        first = (tick, port) not in self._seen
        self._seen.add((tick, port))
        if port not in before:
            return Change("join", frozenset({port}), after), told
        return (Change("refresh", frozenset({port}), after) if first else None), told

    def leave(self, port: int, now_us: int) -> tuple[Change | None, frozenset[int]]:
        """The digest, and the upstream ports that get a leave."""
        before = self.members(now_us)
        self._reported_us.pop(port, None)
        after = self.members(now_us)
        if port not in before:
            return None, frozenset()
        return Change("leave", frozenset({port}), after), self._hears(before) - self._hears(after)

    def data(self, port: int, now_us: int) -> tuple[Change | None, frozenset[int]]:
        """The digest, and the ports that get a copy."""
        members = self.members(now_us)
        expired = self._forget(now_us)
        return (Change("expire", expired, members) if expired else None), members - {port}

    def _forget(self, now_us: int) -> frozenset[int]:
        """Drops ports that expired, once per epoch; returns them."""
        epoch = now_us // self.epoch_us
        if epoch == self._written_epoch:
            return frozenset()
        self._written_epoch = epoch
        expired = frozenset(self._reported_us) - self.members(now_us)
        for port in expired:
            del self._reported_us[port]
        return expired
