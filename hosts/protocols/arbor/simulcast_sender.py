"""The sender of a session of several rates: one sender a rung, each by the least of its own receivers (ours)."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hosts.endpoint import Datagram, Effect, Sample, SenderEndpoint, SessionEnded, SessionStarted
from hosts.protocol import Session
from hosts.protocols.arbor.ladder import Ladder, rung_group, rung_number
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import NUMBER
from hosts.protocols.arbor.sender import ArborSender
from hosts.wire.checks import read_header
from hosts.wire.header import SESSION_MAX, PacketError


class SimulcastSender(SenderEndpoint):
    """Real-time data: what finds no room in a rung is not sent there."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        ladder = Ladder(options)
        self.options = options
        self.number = rng.randint(1, SESSION_MAX) if session.session is None else session.session
        self.counters: Counter[str] = Counter()
        self.rungs: list[ArborSender] = []
        self._of: dict[int, ArborSender] = {}
        for rung in range(options.rungs):
            number = rung_number(self.number, rung)
            # How many come to a rung nobody knows.
            one = replace(session, group=rung_group(session.group, rung), session=number, receivers=1)
            limited = replace(options, rungs=1, rate_limit_bps=ladder.limit(rung, options.rate_limit_bps))
            sender = ArborSender(one, limited, rng)
            sender.counters = self.counters
            self.rungs.append(sender)
            self._of[number] = sender

    @property
    def session_id(self) -> int:
        return self.number

    @property
    def closed(self) -> bool:
        return all(rung.closed for rung in self.rungs)

    @property
    def _highest(self) -> ArborSender:
        """The fastest rung that somebody listens to."""
        return next((rung for rung in reversed(self.rungs) if rung.going.limiting is not None), self.rungs[0])

    # --- the application's side

    @property
    def send_space(self) -> int:
        return self._highest.send_space

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        if len(data) > self.send_space:
            raise ValueError(f"write of {len(data)} bytes where send_space is {self.send_space}")
        highest, payload = self._highest, self.options.payload_bytes
        effects: list[Effect] = []
        for rung in self.rungs:
            if rung is not highest and rung.going.limiting is None:
                continue
            room = rung.send_space
            taken = len(data) if room >= len(data) else room // payload * payload
            if taken:
                effects += rung.write(data[:taken], now=now)
        return effects

    def finish(self, *, now: float) -> Sequence[Effect]:
        return self._together(rung.finish(now=now) for rung in self.rungs)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return self._together(rung.close(now=now, reason=reason) for rung in self.rungs)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        return self._together(rung.start(now=now) for rung in self.rungs)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        try:
            _, _, number = read_header(datagram.data, NUMBER)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        rung = self._of.get(number)
        if rung is None:
            self.counters["drop_other_session"] += 1
            return ()
        return self._together([rung.receive(datagram, now=now)])

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._together(
            rung.handle_timer(now=now) for rung in self.rungs if (at := rung.wake_at) is not None and at <= now
        )

    @property
    def wake_at(self) -> float | None:
        return min((at for rung in self.rungs if (at := rung.wake_at) is not None), default=None)

    def _together(self, several: Iterable[Sequence[Effect]]) -> list[Effect]:
        """A session begins once, and ends when the last rung does."""
        effects: list[Effect] = []
        begun = ended = False
        for some in several:
            for effect in some:
                if isinstance(effect, SessionStarted):
                    if begun:
                        continue
                    begun = True
                elif isinstance(effect, SessionEnded):
                    if ended or not self.closed:
                        continue
                    ended = True
                effects.append(effect)
        return effects

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        rungs = [
            {
                "rung": number,
                "allowed_bps": rung.going.rate * self.options.packet_bytes * 8,
                "leader": rung.going.limiting.address.host,
            }
            for number, rung in enumerate(self.rungs)
            if rung.going.limiting is not None
        ]
        known = sum(len(rung.members) for rung in self.rungs)
        return {**self._highest.sample(now=now), "known_receivers": known, "rungs": rungs}
