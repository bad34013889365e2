"""When receivers say JOIN, so that the sender hears a few of them in a round trip, however many there are (ours).

Who hears a session joins soon. Where many are awaited, or have just begun to come, the data say how many (GATHERING),
and each takes a random place among so many. Timers look again at what data say until they have run out, as RTCP's do
(RFC 3550, 6.3.6): a crowd that nobody expected shows when its first have joined. Who has joined says so again, the less
often the more receivers there are.

A switch that knows the sender's clock answers in its place (docs/assist.md). What it lets pass says for how many.
"""

from collections import deque
from math import inf
from random import Random
from typing import Final

from hosts.parts.spread import spread_rtts
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FLAG_FILE, FLAG_GATHERING, FLAG_SUPPRESSED, AnyData, Join

FIRST_RETRY_S: Final = 0.5
"""A JOIN without an answer is repeated after so long, then after twice as long each time (ours)."""
SWITCH_RETRY_S: Final = 0.05
"""The same where a switch answers, and lets one pass (ours)."""
SECOND_JOIN_S: Final = 10.0
"""The second JOIN follows the first so soon, and the others at twice the distance each: what a clock drifts shows the
better the longer one waits (ours)."""
FIRST_PER_RTT: Final = 6
"""Of those who are awaited so many join in a round trip (ours)."""
AGAIN_PER_RTT: Final = 2
"""And of those who have joined so many do so again, beside eight reports and some requests (ours)."""
FEW: Final = 10
"""So many may join at once (ours)."""
FIRST_LOOP_S: Final = 0.25
"""Before a round trip time is known: the sender's heartbeat."""
LOSES_MUCH: Final = 1 / 10
LOST_PACKETS: Final = 8
"""Who loses so much before it has joined does not wait for its place: far more than any other does (ours)."""
COUNTED: Final = 1 / 2
"""Of `join_interval_s`: who joins again sooner is not counted anew (ours)."""
MOST: Final = 1 << 17
"""Receivers that are counted, as many as `hosts.parts.members` remembers."""
_MICRO: Final = 1e-6


def again_s(receivers: int, rtt: float) -> float:
    """Seconds between two JOINs of a receiver, at least."""
    return receivers * rtt / AGAIN_PER_RTT


class Joining:
    """One receiver's JOINs. Times are in seconds on its clock."""

    __slots__ = (
        "_counted_at",
        "_gap",
        "_heard_at",
        "_hurries_at",
        "_interval_s",
        "_is_sealed",
        "_per_rtt",
        "_place",
        "_rng",
        "_spread_s",
        "asked_us",
        "at",
        "counts",
    )

    def __init__(self, options: ArborOptions, rng: Random) -> None:
        self.at = inf
        """The next one."""
        self.asked_us: int | None = None
        """When the first one was sent that is not answered yet: an answer to it is as good as one to the last."""
        self.counts = True
        """Whether that one says that there is one receiver more."""
        self._rng = rng
        self._spread_s = options.join_spread_s
        self._interval_s = options.join_interval_s
        self._is_sealed = options.sample_s > 0
        self._per_rtt = options.challenges_per_rtt
        self._gap = 0.0  # to the next one, before chance
        self._heard_at = 0.0
        self._place: float | None = None  # among all that join, 0..1
        self._counted_at = -inf
        self._hurries_at = inf

    def _is_answered_on_the_way(self, packet: AnyData) -> bool:
        """Whether a switch may answer a JOIN: not of a file, whose sender must know each of its receivers, and not
        where packets are sealed, for nobody vouches for the clock that it tells."""
        return not self._is_sealed and packet.flags & (FLAG_SUPPRESSED | FLAG_FILE) == FLAG_SUPPRESSED

    def heard(self, packet: AnyData, now: float) -> None:
        """The session's first packet."""
        self._heard_at = now
        self.waits(packet)

    def waits(self, packet: AnyData) -> None:
        """A packet came before the first JOIN."""
        spread = self._spread_s if packet.receivers > 1 else 0.0
        if packet.flags & FLAG_GATHERING and not self._is_answered_on_the_way(packet):
            spread = max(spread, packet.receivers * _loop(packet) / FIRST_PER_RTT)
        if spread and self._place is None:
            self._place = self._rng.random()
        self.at = min(self._heard_at + (self._place or 0.0) * spread, self._hurries_at)

    def suffers(self, packet: AnyData, lost: int, arrived: int, now: float) -> None:
        """So many packets have been lost and have come, and it has not asked yet."""
        if lost >= max(LOST_PACKETS, LOSES_MUCH * arrived) and self._hurries_at == inf:
            # Not all who suffer at once.
            self._hurries_at = now + spread_rtts(self._rng, packet.receivers, self._per_rtt) * _loop(packet)
            self.at = min(self.at, self._hurries_at)

    def asks(self, packet: AnyData, is_known: bool, now: float) -> None:
        """It joins now, with its rtt known or not."""
        if not self._gap:
            self._gap = SWITCH_RETRY_S if self._is_answered_on_the_way(packet) else FIRST_RETRY_S
        if self.asked_us is None:
            self.asked_us = int(now * 1e6)
        self.counts = now >= self._counted_at + COUNTED * self._interval_s
        if not is_known:
            self._gap = min(2 * self._gap, self._interval_s)
        self.at = now + self._gap * self._rng.uniform(0.75, 1.25)

    def packet(self, receiver: int, packet: AnyData, came_at: float, now: float) -> Join:
        """What it asks with, after a packet that came when `came_at` says."""
        waited_us = max(0, int((now - came_at) * 1e6))
        may_suppress = self._is_answered_on_the_way(packet)
        compensated_us = packet.send_time_us + waited_us
        return Join(packet.session, receiver, int(now * 1e6), compensated_us, int(self.counts), may_suppress)

    def answered(self, packet: AnyData, is_first: bool, rtt: float, at: float) -> None:
        """It was answered."""
        self.asked_us = None
        if self.counts:
            self._counted_at = at
        self._gap = SECOND_JOIN_S if is_first else 2 * self._gap
        gap = min(self._gap, self._interval_s)
        if not self._is_answered_on_the_way(packet):
            gap = max(gap, again_s(packet.receivers, rtt))
        # Not all in the rhythm in which they joined.
        self.at = at + gap * self._rng.uniform(0.75, 1)

    def end(self) -> None:
        """No more."""
        self.at = inf


def _loop(packet: AnyData) -> float:
    return packet.rtt_us * _MICRO or FIRST_LOOP_S


class Gathering:
    """How many a sender waits for. Times are in seconds on its clock."""

    __slots__ = ("_crowded_until", "_expected", "_joined", "_patience_s", "_round_at", "_started_at")

    def __init__(self, expected: int, patience_s: float) -> None:
        """`expected`: how many come, as far as anybody knows, within `patience_s` and what their JOINs take."""
        self._expected = expected
        self._patience_s = patience_s
        self._started_at: float | None = None
        self._joined = 0  # in this round trip
        self._round_at = -inf
        self._crowded_until = -inf

    def joined(self, rtt: float | None, now: float) -> None:
        """One more has."""
        loop = rtt or FIRST_LOOP_S
        if now >= self._round_at + loop:
            self._round_at, self._joined = now, 0
        self._joined += 1
        if self._joined > 2 * FIRST_PER_RTT:
            self._crowded_until = now + 2 * loop

    def awaited(self, known: int, rtt: float | None, now: float) -> int:
        """How many there are to be, where `known` have joined; 0: no more than a few."""
        if self._started_at is None:
            self._started_at = now
        # When more come than were to, it may be twice as many.
        most = max(self._expected, 2 * known if now < self._crowded_until else 0)
        if most - known <= FEW:
            return 0
        return most if now < self._started_at + self.patience_s(rtt, most) else 0

    def patience_s(self, rtt: float | None, most: int = 0) -> float:
        """For how long they may join."""
        return self._patience_s + 2 * max(most, self._expected) * (rtt or FIRST_LOOP_S) / FIRST_PER_RTT


class Crowd:
    """How many receivers there are that switches have answered: of those that JOINs stood for of late."""

    __slots__ = ("_told", "_window_s", "count")

    def __init__(self, interval_s: float) -> None:
        """`interval_s`: within which each says so once."""
        self._window_s = interval_s
        self._told: deque[tuple[float, int]] = deque()
        self.count = 0

    def told(self, receivers: int, now: float) -> None:
        """A JOIN stands for so many."""
        self.expire(now)
        receivers = min(receivers, MOST - self.count)
        if receivers > 0:
            self._told.append((now, receivers))
            self.count += receivers

    def expire(self, now: float) -> None:
        """Forget who has not joined again."""
        while self._told and now > self._told[0][0] + self._window_s:
            self.count -= self._told.popleft()[1]
