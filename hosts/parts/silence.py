"""For how long a receiver that has something to answer may say nothing, before the others wait for it no longer."""

from collections.abc import Iterable
from math import inf
from typing import Final

from hosts.wire.reason import Reason

SILENT_S: Final = 1.0
"""RFC 6298's first time-out (2.1), and the least one that it has (2.4)."""
SILENT_ROUNDS: Final = 3
"""Of its round trips, at least (ours: a loss, its repair and the answer)."""


UNPROVEN_S: Final = 6.0
"""For so long, when all others are through, a sender waits for who has joined and then acknowledged next to nothing:
anybody may say in a packet that somebody joins, and in another that it has something (ours: six heartbeats of RLA,
three probes of MTCP)."""
PROVEN_TIMES: Final = 3
"""So often, at least SILENT_S apart, one that is there tells of something new that it has (ours: a forged packet is
one)."""
START_BYTES: Final = 3 * 14_600
"""So much of a stream is kept from its beginning on, whoever has acknowledged it, while nobody has shown that it is
there: those who were meant may still come (ours: an initial window of RFC 6928 and the next one, which is twice as
large; who acknowledges more goes on)."""
START_BLOCKS: Final = 1
"""Of a file in blocks, which are as large, so many are kept until all have more (ours, likewise)."""


class Presence:
    """Whether somebody has shown that it is there. Times in seconds on the clock of who hears it."""

    __slots__ = ("_counts_at", "times")

    def __init__(self) -> None:
        self.times = 0
        """It has told of what it got, at least SILENT_S apart."""
        self._counts_at = -inf

    def told(self, now: float) -> None:
        """Of something new that it has."""
        if now >= self._counts_at:
            self.times += 1
            self._counts_at = now + SILENT_S

    @property
    def is_proven(self) -> bool:
        """Whether that was often enough."""
        return self.times >= PROVEN_TIMES


def kept_from(presences: Iterable[Presence], first: int, base: int, packet_bytes: int) -> int:
    """The packet from which on a stream is kept whose first is `first`, when all have said that they have those before
    `base`: while it is not sure that anybody is there, who was meant may still come."""
    is_little = (base - first) * packet_bytes <= START_BYTES
    return first if is_little and not any(presence.is_proven for presence in presences) else base


def nobody_text(text: str, failed: str) -> str:
    """Why a session fails that is left with nobody; `failed`: who was there and has not the whole, and why."""
    return f"{text} ({failed})" if failed else text


def is_success(reasons: Iterable[Reason], whole: int, wanted: int) -> bool:
    """Whether a session has come to its end as it should in which so many have the whole, and others ended for these
    reasons. Who has acknowledged nothing may not have been there at all: it counts when somebody is missing."""
    others = set(reasons)
    return not others or (others == {Reason.UNPROVEN} and whole >= wanted)


def patience_s(rtt_s: float, sooner_s: float = inf) -> float:
    """Seconds. `rtt_s`: its round trip time, 0 when that is not known; `sooner_s`: known to be enough, were it not for
    the round trips.
    """
    return max(SILENT_ROUNDS * rtt_s, min(SILENT_S, sooner_s))


def behind_text(behind_bytes: int) -> str:
    """Why one is dropped who is silent and lacks all that is kept of the stream, which lies that far behind its end."""
    return f"silent, and {behind_bytes / (1 << 20):.3g} MiB behind"
