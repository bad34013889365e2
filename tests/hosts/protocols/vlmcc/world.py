"""VLMCC sessions in the simulator."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from hosts.endpoint import Datagram, Effect, Send, SenderEndpoint
from hosts.protocol import Session
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import Packet, parse
from hosts.protocols.vlmcc.receiver import VlmccReceiver
from hosts.protocols.vlmcc.sender import VlmccSender
from tests.hosts.star import GROUP, LINK_HEADERS, PACKET_BYTES, Greedy, OffClock, Star

PAYLOAD = PACKET_BYTES - LINK_HEADERS - 28 - 44


class Listening(Greedy):
    """A greedy sender, and what it heard."""

    def __init__(self, endpoint: SenderEndpoint) -> None:
        super().__init__(endpoint)
        self.heard: list[tuple[float, Packet]] = []
        self.on_send: Callable[[float, Packet], None] | None = None

    def fed(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        found = super().fed(effects, now)
        if self.on_send is not None:
            for effect in found:
                if isinstance(effect, Send):
                    self.on_send(now, parse(effect.data))
        return found

    def receive(self, datagram: Datagram, /, *, now: float) -> list[Effect]:
        self.heard.append((now, parse(datagram.data)))
        return super().receive(datagram, now=now)


class World(Star[VlmccReceiver]):
    """A sender, and receivers behind one bottleneck."""

    def __init__(
        self,
        receivers: Sequence[Mapping[str, Any]],
        *,
        bottleneck: Mapping[str, Any] | None = None,
        back: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
        deliver: bool = False,
    ) -> None:
        """`receivers` have `clock`, too: its offset in seconds, its drift in millionths."""
        self.options = VlmccOptions(**{"rules": "paper", "payload_bytes": PAYLOAD, **(options or {})})
        session = Session(GROUP, session=7, realtime=True, deliver=deliver)
        self.sender = VlmccSender(session, self.options, Random(seed))
        self.greedy = Listening(self.sender)
        super().__init__(
            receivers,
            self.greedy,
            lambda number: VlmccReceiver(session, self.options, Random(seed * 1_000_003 + number)),
            bottleneck=bottleneck,
            back=back,
            seed=seed,
            host=lambda receiver, given: OffClock(receiver, *given.get("clock", (0.0, 0.0))),
        )

    @property
    def leader(self) -> int | None:
        """Which receiver leads."""
        leader = self.sender.election.leader
        if leader is None:
            return None
        return next(number for number, one in enumerate(self.receivers) if one.id == leader.receiver)
