"""WEBRC sessions in the simulator, without scenario files: `sender` - `core` - `edge` - `r0`, `r1`, ...

The joins of source-specific groups reach `core`, which stands for the sender, as nothing lies between the two.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from random import Random
from typing import Any, cast

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, Effect, JoinGroup, LeaveGroup
from hosts.protocol import Session
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.protocols.webrc.sender import WebrcSender
from tests.hosts.protocols.webrc.memory import PAPER, FromTheStart
from tests.hosts.star import link_spec, way_back

GROUP = Address("232.6.0.0", 5000)
PORT = 40000
SENDER = "10.0.0.1"
PACKET_BITS = 8 * 1024
MOST_AHEAD = 32
"""Packets that a sender looks at beforehand."""


def one_way(rtt: float, **rest: Any) -> dict[str, Any]:
    """A link whose way there and back takes `rtt` seconds."""
    return {"delay_us": rtt / 2 * 1e6, **rest}


def _delay_s(link: Mapping[str, Any]) -> float:
    return float(link.get("delay_us", 0.0)) / 1e6


class Audience:
    """Which groups the first router may have members of, for a while to come."""

    def __init__(self, ways_s: Sequence[float]) -> None:
        """`ways_s`: what a join takes from each receiver to the router."""
        self.ahead_s = min(ways_s, default=0.0)
        """So long nobody else's join can arrive."""
        self._late_s = max(ways_s, default=0.0) + 1e-3
        self._joined: Counter[Address] = Counter()
        self._left_at: dict[Address, float] = {}

    def note(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        """What a receiver does at this moment."""
        for effect in effects:
            if isinstance(effect, JoinGroup):
                self._joined[effect.group] += 1
            elif isinstance(effect, LeaveGroup):
                self._joined[effect.group] -= 1
                self._left_at[effect.group] = now
        return effects

    def hears(self, group: Address, now: float) -> bool:
        """Whether a packet to the group that leaves within `ahead_s` may find a member."""
        return bool(self._joined[group]) or self._left_at.get(group, -inf) + self._late_s >= now


class Receiver(WebrcReceiver):
    """One that tells which groups it joins."""

    audience: Audience

    def start(self, *, now: float) -> Sequence[Effect]:
        return self.audience.note(super().start(now=now), now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        effects = super().receive(datagram, now=now)
        return self.audience.note(effects, now) if effects else effects

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self.audience.note(super().handle_timer(now=now), now)


class Sender(WebrcSender):
    """One that passes over what the first router drops, for want of members, before anything comes of it: most of a
    session, which has several times the rate of its receivers' links. Its own counters lack what it passes over."""

    audience: Audience

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects = super().handle_timer(now=now)
        most = min(MOST_AHEAD, int((now + self.audience.ahead_s - self._next_at) * self.waves.session_rate))
        if self.state == "sending" and most > 0:
            for channel, _, _ in self._schedule.places(self._next, most):
                if self.audience.hears(self._groups[channel], now):
                    break
                self._next += 1
            self._next_at = self._time_of(self._next)
        return effects


class World:
    """One session."""

    def __init__(
        self,
        receivers: Sequence[Mapping[str, Any]],
        *,
        shared: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
    ) -> None:
        """The parameters are the paper's but for `options`.

        `receivers`: each one's link from the edge, and `join` in seconds; with `phase_s` its first epoch is so long,
        which is random otherwise. `shared`: core to edge."""
        self.sim = sim = Sim(seed)
        self.options = WebrcOptions(**{**PAPER, **(options or {})})
        self.effects: dict[int, list[tuple[float, Effect]]] = {}
        sim.add_host("sender", SENDER)
        sim.add_router("core")
        sim.add_router("edge")
        sim.connect("sender", "core", {"limit_packets": 10_000}, {})
        self.shared = sim.connect("core", "edge", link_spec(shared or {}), way_back(shared or {}))
        session = Session(GROUP, source=SENDER, session=7, realtime=True, deliver=False)
        self.sender = Sender(session, self.options, FromTheStart())
        self.sender.audience = audience = Audience([_delay_s(shared or {}) + _delay_s(given) for given in receivers])
        self.receivers: list[WebrcReceiver] = []
        self.links: list[int] = []
        for number, given in enumerate(receivers):
            link = dict(given)
            join, phase = link.pop("join", 0.0), link.pop("phase_s", None)
            name = f"r{number}"
            sim.add_host(name, f"10.{1 + number // 65536}.{number // 256 % 256}.{number % 256}")
            self.links.append(sim.connect("edge", name, link_spec(link), way_back(link)))
            receiver = Receiver(session, self.options, Random(seed * 1_000_003 + number))
            receiver.audience = audience
            if phase is not None:
                receiver._phase_s = phase
            self.receivers.append(receiver)

            def take(effect: object, now: float, number: int = number) -> None:
                self.effects.setdefault(number, []).append((now, cast(Effect, effect)))

            sim.add_endpoint(name, name, receiver, port=PORT, seam=seam, start_at=join, on_effect=take)
        sim.add_endpoint("sender", "sender", self.sender, port=PORT, seam=seam, start_at=0.0)

    def packets(self, number: int) -> int:
        """What a receiver has had so far."""
        return self.receivers[number].counters["data_packets"]

    def rate(self, number: int, since: float, until: float) -> float:
        """Bit/s of packets that a receiver got between two times; runs the world to the second."""
        self.sim.run(since)
        before = self.packets(number)
        self.sim.run(until)
        return (self.packets(number) - before) * PACKET_BITS / (until - since)
