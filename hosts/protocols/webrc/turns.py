"""Whether a queue serves each channel in turn, and what one flow may have of it, with today's rules (ours).

Where flows have queues of their own (FQ-CoDel, RFC 8290) each channel is a flow by its address, so that a session could
have as many turns as channels. Nothing tells receivers of it but this: the wave joined last, which is the fastest,
comes later and later, while slower ones come when they are due. For when the sender sends a packet is known from its
number: a wave falls as all do. In a queue that all channels share, all are as late.

What comes of the fastest wave then is a turn. The link's rate is that of packets that come one right after the other,
for some wait at all times. What all that comes leaves of it is others', and as each of those that wait has a turn,
their number is known: the session may have what each of them and one more would have. Where less than half a turn is
left nobody waits, and the channels have all of the link.

At that rate no wave is over its turn, and nothing tells whether it has become another. So it holds for a quarter of a
time slot, and twice as long each time that it is found again; then the equation alone says what is joined, until a wave
is over its turn.

Not all that waits is another's. Of a wave that has been left, what waits is still served. And others behind the same
bottleneck may have waves of the session that this receiver has not: where joins show that there are such others, who
waits is not known, and nothing holds.

Rates are in packets per second, times in seconds.
"""

import math
from collections import deque
from typing import Final

from hosts.protocols.webrc.waiting import Waiting
from hosts.protocols.webrc.waves import Waves

_COMPARED: Final = (2, 3, 4)
"""Below the wave joined last, waves that are compared with it (ours): the next one may be over its turn, too, and of
slower ones it is less known when they are due."""
LATE_GAPS: Final = 2.0
"""Between packets of the fastest wave, that it is later than the others (ours): the sender is within one of the
fluid."""
LATEST: Final = 8
"""Packets of the others: it is later than the latest of these (ours), for a queue that all share grows meanwhile."""
LEAST_PACKETS: Final = 8
"""Of the fastest wave, one after the other, that show its turn (ours)."""
TRAIN_PACKETS: Final = 4
LEAST_TRAIN_S: Final = 1e-3
"""Packets that came one right after the other, and the time of these, at least, that show the link's rate (ours): a
receiver's machine may hand over together what came together."""
WAITS: Final = 2.0
"""Of how long the last packet of a wave that is left has waited, until the last one that waits is through (ours)."""
SHARED_SLOTS: Final = 2.0
"""For which others are believed to be there that have joined the same session (ours)."""
LEAST_OTHERS: Final = 0.5
"""Turns (ours)."""
HOLDS_SLOTS: Final = 0.25
"""Time slots for which a rate holds that was found once (ours)."""
MOST_DOUBLINGS: Final = 4
"""Of this time (ours)."""


class Turns:
    """Of one receiver."""

    def __init__(self, waves: Waves, epoch_s: float) -> None:
        self._waves = waves
        self._least_s = epoch_s / 2
        self._fall = math.log(1 / waves.p)
        # Packets that are left of a wave when its first two slots, whose shape is another, are over.
        self._regular = waves.wave_packets - waves.wave_volume(0, 1.0) - waves.wave_volume(1, 1.0)
        self._rate = math.inf
        self._until = -math.inf
        self._found = 0  # times on end
        self._slots = 0
        self._others_late = deque[float](maxlen=LATEST)
        self._late = 0.0  # the fastest wave, beyond the others
        self.drained_at = -math.inf
        """Until then what waited of a wave that was left may still come."""
        self._shared_until = -math.inf
        self.waiting = Waiting()
        """How long packets wait in a queue."""
        self.begin()

    def begin(self) -> None:
        """The fastest wave is another one from now on, or not over its turn."""
        self._since: float | None = None  # it has been over its turn
        self._at = 0.0
        self._all = self._fastest = 0  # packets
        self._train: list[float] = []  # times of the last arrivals
        self._link = 0.0

    def left(self, now: float, artt: float) -> None:
        """The fastest wave has been left. What waits of it is still served in its turn, as another's would be: what
        came last has waited for so long, and what is behind it waits for longer."""
        self.drained_at = now + artt + WAITS * max(0.0, self._late)
        self._late = 0.0
        self.begin()

    @property
    def is_over(self) -> bool:
        """Whether the fastest wave is over its turn."""
        return self._since is not None

    def slot_changed(self) -> None:
        """A new time slot: all waves are one place lower."""
        self._slots += 1
        self.waiting.slot_changed()

    def packets(self, place: int, joined: int, psn: int, count: int, since: float, until: float) -> None:
        """As `packet` each of so many that follow each other, of which the first one came at one time and the last one
        at another, evenly. Of those that change nothing the last ones are enough."""
        below = joined - 1 - place
        if self._since is None and below not in (0, *_COMPARED):
            return
        if count == 1:
            self.packet(place, joined, psn, until)
            return
        gap, begin = (until - since) / (count - 1), 0
        if self._since is None and below:
            begin = max(0, count - LATEST)
        elif self._since is None:
            ends = (self._lateness(place, psn, since), self._lateness(place, psn + count - 1, until))
            if all(late <= LATE_GAPS * gap_s for late, gap_s in ends):
                begin = count - 1
        for number in range(begin, count):
            self.packet(place, joined, psn + number, since + number * gap)

    def _lateness(self, place: int, psn: int, at: float) -> tuple[float, float]:
        """How much later than the others a packet of the fastest wave is, and its distance to the next one."""
        late, gap = self._lag(place, self._waves.psns - psn, at)
        return late - max(self._others_late, default=math.inf), gap

    def _lag(self, place: int, left: int, at: float) -> tuple[float, float]:
        """Of a packet after which the wave has so many, from when it was due, and the distance to the next one."""
        waves = self._waves
        rate = waves.rate_before_end(left)
        until_end = waves.slot_s * math.log(rate / waves.base_rate) / self._fall
        return at - (self._slots + place + 1) * waves.slot_s + until_end, 1 / rate

    def packet(self, place: int, joined: int, psn: int, at: float) -> None:
        """One has come, of the wave in this place from the lowest of those joined; the base channel's is negative."""
        if self._since is not None:
            self._at = at
            self._all += 1
            self._note(at)
        below = joined - 1 - place
        left = self._waves.psns - psn
        if place < 0 or left > self._regular or not (below == 0 or below in _COMPARED):
            return
        late, gap = self._lag(place, left, at)
        self.waiting.packet(late, gap)
        if below:
            self._others_late.append(late)
            return
        self._late = late - max(self._others_late, default=math.inf)
        if self._late <= LATE_GAPS * gap or at < max(self.drained_at, self._shared_until):
            self.begin()
        elif self._since is None:
            self._since = at
        else:
            self._fastest += 1

    def _note(self, at: float) -> None:
        """For the link's rate, the time of an arrival."""
        train = self._train
        train.append(at)
        if len(train) <= TRAIN_PACKETS or at - train[0] < LEAST_TRAIN_S:
            return
        self._link = max(self._link, (len(train) - 1) / (at - train[0]))
        while len(train) > TRAIN_PACKETS and at - train[1] >= LEAST_TRAIN_S:
            del train[0]

    def look(self, now: float) -> float | None:
        """What the session may have, where the fastest wave is over its turn and others wait; None: that is not known,
        or not so."""
        lasted = 0.0 if self._since is None else self._at - self._since
        if lasted < self._least_s or self._fastest < LEAST_PACKETS:
            return None
        turn, link = self._fastest / lasted, self._link
        others = (link - self._all / lasted) / turn
        self.begin()
        if others < LEAST_OTHERS:
            self._until, self._found = now, 0
            return None
        self._rate = link / (1 + others)
        if now >= self._until:
            self._found += 1
        self._until = now + HOLDS_SLOTS * self._waves.slot_s * 2.0 ** min(self._found - 1, MOST_DOUBLINGS)
        return self._rate

    def shared(self, now: float) -> None:
        """Others behind the same bottleneck have joined a wave before: who waits may be a wave of theirs."""
        self._until, self._found = now, 0
        self._shared_until = now + SHARED_SLOTS * self._waves.slot_s
        self.begin()

    def limit(self, now: float) -> float:
        """What the session may have now."""
        return self._rate if now < self._until else math.inf
