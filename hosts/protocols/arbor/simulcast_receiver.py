"""The receiver of a session of several rates: in one rung at a time, the one that its window is worth (ours).

It climbs when it wants what the next rung is for, and is on trial there: until it is known to bear that rate it asks
nobody for less, and goes back by itself. A climb that failed is tried again after twice the time.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Final

from hosts.endpoint import Datagram, DeliverDatagram, Effect, Sample, SessionEnded, SessionStarted, StreamEnded
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.protocols.arbor.ladder import Ladder, rung_group, rung_number
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.wire.reason import Reason

LOOK_S: Final = 0.05
"""Between two looks at what it wants (ours)."""
MEAN_S: Final = 1.0
MEAN_RTTS: Final = 16
"""What it wants is smoothed over the longer of both: more than a cut and its recovery (ours)."""
TRIAL_S: Final = 1.0
TRIAL_RTTS: Final = 10
"""Who bears a rung for the longer of both has filled what queue it has (ours)."""
DEAF_S: Final = 2.0
"""Nothing has come of a rung, or no answer: it is left (ours)."""
BEARS: Final = 0.95
"""Of a rung's bound: who wants less leaves it (ours)."""
SUDDEN: Final = 0.5
"""And who wants less than this does so at once (ours)."""
FAILED_S: Final = 10.0
"""Who leaves a rung so soon after coming has tried in vain (ours)."""
LEAST_PATIENCE_S: Final = 2.0
MOST_PATIENCE_S: Final = 64.0
"""Before the next climb (ours)."""


class SimulcastReceiver(SessionReceiver):
    """States: those of the receiver in the rung."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.rung = 0
        self.moves = 0
        self._ladder = Ladder(options)
        self._rng = rng
        self._in = self._make(0)
        self._begun = False
        self._before = (0, 0, 0)  # bytes, packets and lost ones of the rungs that it has left
        self._wanted = 0.0  # smoothed, bit/s
        self._came_at = 0.0
        self._looked_at = -inf
        self._climbs_at = self._trial_until = 0.0
        self._from = 0  # the rung from which it came to the one where it is on trial
        self._failed = False  # a climb, once
        self._patience_s = LEAST_PATIENCE_S
        self._next = (0, 0)  # what the application has been told of: packets, bytes
        self._shift: tuple[int, int] | None = None  # from a rung's count of these to ours

    def _make(self, rung: int) -> ArborReceiver:
        number = None if self.number is None else rung_number(self.number, rung)
        session = replace(self.session, group=rung_group(self.session.group, rung), session=number)
        one = ArborReceiver(session, replace(self.options, rungs=1), self._rng)
        one.counters = self.counters
        return one

    # --- the application's side

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        return self._passed(self._in.confirm(complete=complete, now=now, reason=reason))

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self._passed(self._in.close(now=now, reason=reason))

    @property
    def received_bytes(self) -> int:
        return self._before[0] + self._in.received_bytes

    @property
    def data_packets(self) -> int:
        return self._before[1] + self._in.data_packets

    def sample(self, *, now: float) -> Sample:
        return {
            **self._in.sample(now=now),
            "received_bytes": self.received_bytes,
            "data_packets": self.data_packets,
            "lost_packets": self._before[2] + self._in.gaps.lost_packets,
            "rung": self.rung,
        }

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._came_at = now
        return self._in.start(now=now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        effects = self._passed(self._in.receive(datagram, now=now))
        return effects + self._look(now) if now >= self._looked_at + LOOK_S else effects

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._passed(self._in.handle_timer(now=now)) + self._look(now)

    @property
    def wake_at(self) -> float | None:
        at = self._in.wake_at
        if self.closed or self.rung == 0 or self._in.rtt:
            return at
        deaf_at = self._came_at + DEAF_S
        return deaf_at if at is None else min(at, deaf_at)

    def _passed(self, effects: Sequence[Effect]) -> list[Effect]:
        """What the receiver in the rung does, as one session's."""
        passed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, DeliverDatagram):
                passed.append(self._renumbered(effect))
                continue
            if isinstance(effect, SessionStarted):
                if self._begun:
                    continue
                self._begun = True
            passed.append(StreamEnded(self.received_bytes) if isinstance(effect, StreamEnded) else effect)
        self.state = self._in.state
        if self.number is None:
            self.number = self._in.number
        return passed

    def _renumbered(self, packet: DeliverDatagram) -> DeliverDatagram:
        """Packets and bytes are counted through all rungs."""
        if self._shift is None:
            self._shift = (self._next[0] - packet.seq, self._next[1] - packet.offset)
        seq, offset = packet.seq + self._shift[0], packet.offset + self._shift[1]
        self._next = (max(self._next[0], seq + 1), max(self._next[1], offset + len(packet.data)))
        return packet._replace(seq=seq, offset=offset)

    # --- which rung

    def _look(self, now: float) -> list[Effect]:
        since, self._looked_at = self._looked_at, now
        one = self._in
        if self.closed:
            return []
        if not one.rtt:
            deaf = self.rung > 0 and now >= self._came_at + DEAF_S
            return self._move(self.rung - 1, now) if deaf else []
        wanted = one.window.standing / one.rtt * self.options.packet_bytes * 8
        on_trial = now < self._trial_until
        one.asks = not on_trial
        if one.window.slow_start:
            self._wanted = wanted
        else:
            share = min(1.0, (now - since) / max(MEAN_S, MEAN_RTTS * one.rtt))
            self._wanted += share * (wanted - self._wanted)
            bound = self._ladder.bound(self.rung)
            if wanted < (BEARS if on_trial else SUDDEN) * bound or self._wanted < BEARS * bound:
                back = self._from if on_trial else self._ladder.rung(self._wanted)
                return self._move(min(self.rung - 1, back), now)
        fits = self._ladder.rung(min(wanted, self._wanted))
        if fits > self.rung and now >= self._climbs_at and (not on_trial or one.window.slow_start):
            # Twice as fast as what comes, as in slow start, until that has been too much once.
            return self._move(self.rung + 1 if self._failed else fits, now)
        return []

    def _move(self, rung: int, now: float) -> list[Effect]:
        old = self._in
        self._trial_until = 0.0
        if rung > self.rung:
            self._from = self.rung
            self._climbs_at = now
            self._trial_until = now + max(TRIAL_S, TRIAL_RTTS * old.rtt)
            if now >= self._came_at + FAILED_S:
                self._patience_s = LEAST_PATIENCE_S
        else:
            self._failed = True
            if now < self._came_at + FAILED_S:
                self._patience_s = min(2 * self._patience_s, MOST_PATIENCE_S)
            self._climbs_at = now + self._patience_s * self._rng.uniform(0.75, 1.25)
        received, packets, lost = self._before
        self._before = (received + old.received_bytes, packets + old.data_packets, lost + old.gaps.lost_packets)
        left = [effect for effect in old.close(now=now, reason="") if not isinstance(effect, SessionEnded)]
        self.moves += 1
        self.rung = rung
        self._came_at = now
        self._shift = None
        self._wanted = self._ladder.bound(rung) / BEARS
        self._in = self._make(rung)
        self._in.asks = False
        return [*left, *self._passed(self._in.start(now=now))]
