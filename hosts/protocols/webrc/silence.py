"""Which joined channels have fallen silent, as after a switch has been started again and knows no members.

A wave is never slower than the base channel, so one time serves for all. Hosts answer a switch's queries, but one that
has just begun may have none of a session's groups yet when the answers come.
"""

from typing import Final

LEAST_S: Final = 1.0
"""Before a channel is joined again, at least (ours): what routes take to come back."""
PACKETS: Final = 10.0
"""Of the base channel's, that are missing in a row (ours): at a loss of a tenth that is never chance."""


class Silences:
    """The channels of one receiver, by their numbers."""

    def __init__(self, base_rate: float, most_s: float) -> None:
        """`base_rate`: packets per second; `most_s`: the time, seconds, that is never waited for longer."""
        self.limit_s = min(max(LEAST_S, PACKETS / base_rate), most_s)
        """Seconds without a packet after which a channel is silent."""
        self._since: dict[int, float] = {}

    def heard(self, channel: int, now: float) -> None:
        """A packet of the channel has come, or it has been joined."""
        self._since[channel] = now

    def forget(self, channel: int) -> None:
        """The channel has been left."""
        self._since.pop(channel, None)

    def take(self, now: float) -> list[int]:
        """The channels that are to be joined again now; each is waited for anew."""
        found = [channel for channel, since in self._since.items() if now - since >= self.limit_s]
        for channel in found:
            self._since[channel] = now
        return found
