"""A WEBRC sender and receivers joined by memory: every receiver hears what it has joined, less what a test takes."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from hosts.application import Application
from hosts.endpoint import Address, Datagram, Effect, JoinGroup, LeaveGroup, Send, SessionEnded
from hosts.protocol import Session
from hosts.protocols.webrc.flute.objects import ObjectEncoder
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.protocols.webrc.sender import WebrcSender
from hosts.wire.manifest import Manifest
from topologies.simulation.sink import CheckingSink

GROUP = Address("232.6.0.0", 5000)
SENDER = Address("10.0.0.1", 40000)
PAPER: dict[str, Any] = {"rules": "paper", "packet_bytes": 1024, "base_rate": 1.0, "epoch_s": 0.5}
"""Table 1."""
FAST: dict[str, Any] = {**PAPER, "session_rate_bps": 1e6, "slot_s": 2.0, "quiescence_s": 10.0, "epoch_s": 0.1}


def next_packet(encoder: ObjectEncoder, channel: int = 0) -> tuple[int, bytes]:
    """FEC Payload ID and symbol of a channel's next packet."""
    number, (symbol,) = encoder.next_packets(channel, 1)
    return number, symbol


class FromTheStart(Random):
    """Of a sender: it begins at its cycle's beginning, so that a test knows where in a time slot it is."""

    def randrange(self, *bounds: int) -> int:  # type: ignore[override]
        return 0


def session(**fields: Any) -> Session:
    return Session(GROUP, source=SENDER.host, session=7, **fields)


class Source:
    """A file as a stream."""

    def __init__(self, data: bytes, name: str = "song.ogg") -> None:
        self._left = Manifest(name, len(data), hashlib.sha256(data).hexdigest()).encode() + data

    def read(self, space: int) -> bytes:
        piece, self._left = self._left[:space], self._left[space:]
        return piece

    @property
    def exhausted(self) -> bool:
        return not self._left


class Member:
    """A receiver with its application."""

    def __init__(self, options: WebrcOptions, now: float, **fields: Any) -> None:
        self.endpoint = WebrcReceiver(session(**fields), options, Random(1))
        self.sink = CheckingSink()
        self.groups: set[Address] = set()
        self.joins: Counter[Address] = Counter()
        self.ended: SessionEnded | None = None
        self._application = Application(self.endpoint, sink=self.sink, on_event=self._event)
        self.carry_out(self.endpoint.start(now=now), now)

    def _event(self, event: Effect) -> None:
        if isinstance(event, SessionEnded):
            self.ended = event

    def carry_out(self, effects: Any, now: float) -> None:
        for effect in self._application.carry_out(effects, now):
            assert not isinstance(effect, Send), "a receiver never sends"
            if isinstance(effect, JoinGroup):
                assert effect.group not in self.groups
                self.groups.add(effect.group)
                self.joins[effect.group] += 1
            elif isinstance(effect, LeaveGroup):
                self.groups.remove(effect.group)

    def wake(self, now: float) -> None:
        wake = self.endpoint.wake_at
        if wake is not None and wake <= now:
            self.carry_out(self.endpoint.handle_timer(now=now), now)

    def take(self, send: Send, now: float) -> None:
        if send.destination in self.groups and self.ended is None:
            self.carry_out(self.endpoint.receive(Datagram(send.data, SENDER, send.destination), now=now), now)


def packets(options: WebrcOptions, data: bytes, until: float) -> Iterator[tuple[float, Send]]:
    """What a sender of a file sends, with the time."""
    sender = WebrcSender(session(), options, FromTheStart())
    application = Application(sender, source=Source(data))
    application.carry_out(sender.start(now=0.0), 0.0)
    application.feed(0.0)
    while not sender.closed and (now := sender.wake_at) is not None and now <= until:
        for effect in application.carry_out(sender.handle_timer(now=now), now):
            assert isinstance(effect, Send)
            yield now, effect


def play(
    options: WebrcOptions,
    data: bytes,
    joins: list[float],
    until: float,
    lost: Callable[[int], bool] = lambda number: False,
    own: WebrcOptions | None = None,
) -> list[Member]:
    """A file to receivers that join at these times; `lost` says of whom the next packet is taken. `own`: the receivers'
    options, where they are others than the sender's."""
    members: list[Member] = []
    waiting = sorted(joins)
    for now, send in packets(options, data, until):
        while waiting and waiting[0] <= now:
            members.append(Member(own or options, waiting.pop(0)))
        for number, member in enumerate(members):
            member.wake(now)
            if not lost(number):
                member.take(send, now)
        if not waiting and all(member.ended for member in members):
            break
    return members
