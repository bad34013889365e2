"""A receiver's channels: their groups, which of them it has joined, and what it lacks of each."""

from collections import Counter
from typing import Final

from hosts.endpoint import JoinGroup, LeaveGroup
from hosts.parts.groups import session_groups
from hosts.protocol import Session
from hosts.protocols.webrc.losses import Losses
from hosts.protocols.webrc.silence import Silences
from hosts.protocols.webrc.waves import Waves


class Channels:
    """Of a session with these waves, of whose channels none is joined yet. Every change is an effect to be returned."""

    def __init__(self, session: Session, waves: Waves, counters: Counter[str], most_silence_s: float) -> None:
        """`most_silence_s`: after so long, at most, a channel is joined again."""
        self.groups: Final = session_groups(session.group, waves.t)
        self.waves: list[int] = []
        """Those that are joined, the lowest first. The base channel always is."""
        self.losses: Final = Losses(waves.psns, waves.t, waves.base_psns)
        self.silences: Final = Silences(waves.base_rate, most_silence_s)
        self._base = waves.t
        self._source = session.source
        self._counters = counters

    def join(self, channel: int) -> JoinGroup:
        """Join a channel's group."""
        return JoinGroup(self.groups[channel], self._source)

    def quit(self, channel: int) -> LeaveGroup:
        """The reverse of `join`."""
        return LeaveGroup(self.groups[channel], self._source)

    def open(self, channel: int) -> JoinGroup:
        """Another wave, behind those that are joined."""
        self.losses.forget(channel)
        self.waves.append(channel)
        self._counters["joins"] += 1
        return self.join(channel)

    def leave(self, channel: int) -> LeaveGroup:
        """A wave that is over."""
        self.waves.remove(channel)
        self.silences.forget(channel)
        self._counters["leaves"] += 1
        return self.quit(channel)

    def leave_last(self) -> LeaveGroup:
        """The wave that was joined last."""
        self.losses.forget(self.waves[-1])
        return self.leave(self.waves[-1])

    def leave_all(self) -> list[LeaveGroup]:
        """The base channel, too."""
        channels = [self._base, *self.waves]
        self.waves.clear()
        return [self.quit(channel) for channel in channels]

    def join_again(self, now: float, joining: int | None) -> list[JoinGroup | LeaveGroup]:
        """Those that have fallen silent, but for the one that is just being joined."""
        effects: list[JoinGroup | LeaveGroup] = []
        for channel in self.silences.take(now):
            if channel != joining:
                effects += [self.quit(channel), self.join(channel)]
                self._counters["joined_again"] += 1
        return effects
