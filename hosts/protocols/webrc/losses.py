"""Which packets of the joined channels are lost: gaps in their numbers, once reordering cannot explain them.

A packet is taken for lost when three more packets of the session, whatever their channels, have come after the one that
showed the gap (three, as TCP's and TFRC's; the sender sends one packet after the other, so that reordering moves a
packet among all of them).
"""

from collections import deque
from typing import Final, NamedTuple

REORDERING: Final = 3
MOST_MISSING: Final = 4096
"""Of one gap, that may still come; the others are taken for lost at once (ours: bounds what a forger can fill)."""


class _Channel:
    __slots__ = ("came_at", "missing", "next")

    def __init__(self, following: int, came_at: float) -> None:
        self.came_at = came_at
        """When its last packet came."""
        self.next = following
        """The PSN that is expected next."""
        self.missing: set[int] = set()


class _Gap(NamedTuple):
    settled_by: int
    """The packet at which it is."""
    number: int
    """The channel's."""
    psns: tuple[int, ...]
    ended_at: float
    spacing: float
    """Seconds between its packets."""


class Losses:
    """The channels of one receiver. PSNs of a wave only rise; those of the base channel wrap."""

    def __init__(self, psns: int, base: int, base_psns: int) -> None:
        """`base`: the base channel's number; `psns`, `base_psns`: how many PSNs waves and the base channel have."""
        self._psns = psns
        self._base = base
        self._base_psns = base_psns
        self._channels: dict[int, _Channel] = {}
        self._seen = 0
        self._due: deque[_Gap] = deque()
        self.due_at: list[float] = []
        """When the packets should have come that the last call has found lost, evenly between those around the gap (as
        RFC 5348, 5.2): a slow channel shows a loss late."""

    def packet(self, number: int, psn: int, at: float = 0.0) -> tuple[bool, int]:
        """Take a packet that came `at` a time, seconds; whether it is new, and how many packets are lost, as is known
        now."""
        self._seen += 1
        self.due_at = []
        lost = self._settle() if self._due else 0
        channel = self._channels.get(number)
        if channel is None:
            self._channels[number] = _Channel(self._after(number, psn), at)
            return True, lost
        if psn == channel.next:
            channel.next = self._after(number, psn)
            channel.came_at = at
            return True, lost
        if psn in channel.missing:
            channel.missing.discard(psn)
            return True, lost
        ahead = (psn - channel.next) % self._space(number)
        is_ahead = ahead < self._base_psns // 2 if number == self._base else psn > channel.next
        if not is_ahead:
            return False, lost
        lost += self._gap(number, channel, ahead, at)
        channel.next = self._after(number, psn)
        channel.came_at = at
        return True, lost

    def following(self, number: int, psn: int, count: int, at: float) -> bool:
        """Take so many packets of a wave that follow each other, the last of which came `at` a time, seconds, if they
        are what is expected and nothing waits to be settled; whether that is so."""
        channel = self._channels.get(number)
        if self._due or channel is None or psn != channel.next:
            return False
        self._seen += count
        self.due_at = []
        channel.next = psn + count
        channel.came_at = at
        return True

    def leave(self, number: int, at: float = 0.0) -> int:
        """A wave is over: what is missing up to its last number is lost, if it does not come right now."""
        self.due_at = []
        channel = self._channels.get(number)
        if channel is None:
            return 0
        return self._gap(number, channel, max(0, self._psns - channel.next), at, until_end=True)

    def forget(self, number: int) -> None:
        """The next packet of this channel is the first of another wave, or after another join."""
        self._channels.pop(number, None)

    def _gap(self, number: int, channel: _Channel, size: int, at: float, *, until_end: bool = False) -> int:
        if size == 0:
            return 0
        kept = min(size, MOST_MISSING)
        first = channel.next + size - kept
        space = self._space(number)
        psns = tuple((first + offset) % space for offset in range(kept))
        channel.missing.update(psns)
        self._due.append(_Gap(self._seen + REORDERING, number, psns, at, (at - channel.came_at) / (size + 1)))
        if until_end:
            channel.next = self._psns
        return size - kept

    def _settle(self) -> int:
        lost = 0
        while self._due and self._due[0].settled_by <= self._seen:
            gap = self._due.popleft()
            channel = self._channels.get(gap.number)
            if channel is None:
                continue
            for before_end, psn in enumerate(reversed(gap.psns), 1):
                if psn in channel.missing:
                    channel.missing.discard(psn)
                    lost += 1
                    self.due_at.append(gap.ended_at - before_end * gap.spacing)
        return lost

    def _after(self, number: int, psn: int) -> int:
        return (psn + 1) % self._base_psns if number == self._base else psn + 1

    def _space(self, number: int) -> int:
        return self._base_psns if number == self._base else self._psns
