"""A sender that has fallen silent; and which joined channels have, as after a switch has been started again and knows
no members.

A wave is never slower than the base channel, so one time serves for all. Hosts answer a switch's queries, but one that
has just begun may have none of a session's groups yet when the answers come.
"""

from typing import Final

LEAST_S: Final = 1.0
"""Before a channel is joined again, at least (ours): what routes take to come back."""
PACKETS: Final = 10.0
"""Of the base channel's, that are missing in a row (ours): at a loss of a tenth that is never chance."""

SILENCE_S: Final = 10.0
SAME_SLOT_S: Final = 20.0
"""Exceptional time-outs, at least (RFC 3738, 3.2.3.8: max{10, TSD} and max{20, 2 TSD})."""
GIVE_UP_S: Final = 30.0
"""With today's rules a receiver whose sender is silent begins again, for so long (ours): the network may come back."""
PLAIN_SILENCE_S: Final = 60.0
"""Of a sender without congestion control, which may rest between its files (ours)."""


def is_silent(silent_s: float, slot_s: float) -> bool:
    """Whether a sender has fallen silent whose time slots are so long."""
    return silent_s > max(SILENCE_S, slot_s)


def overdue(silent_s: float, in_slot_s: float, slot_s: float, least_s: float) -> str:
    """Why a receiver gives up a sender that it has not heard for `silent_s`, at least `least_s`, and that was in its
    last time slot for `in_slot_s` by then (RFC 3738, 3.2.3.8); empty: it does not."""
    limit = max(least_s, slot_s)
    if silent_s > limit:
        return f"the sender was silent for {limit:g} s"
    return "the sender's time slots do not change" if in_slot_s > max(SAME_SLOT_S, 2 * slot_s) else ""


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
