"""VLMCC sessions in the simulator."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hosts.endpoint import Datagram, Effect, Send, SenderEndpoint
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import Packet, parse
from hosts.protocols.vlmcc.receiver import VlmccReceiver
from hosts.protocols.vlmcc.sender import VlmccSender
from tests.hosts.star import LINK_HEADERS, PACKET_BYTES, Greedy, Star

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


class World(Star[VlmccSender, VlmccReceiver]):
    """VLMCC's."""

    greedy: Listening

    def __init__(
        self, receivers: Sequence[Mapping[str, Any]], *, options: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        self.options = VlmccOptions(**{"rules": "paper", "payload_bytes": PAYLOAD, **(options or {})})
        super().__init__(VlmccSender, VlmccReceiver, self.options, receivers, feed=Listening, **given)

    @property
    def leader(self) -> int | None:
        """Which receiver leads."""
        leader = self.sender.election.leader
        if leader is None:
            return None
        return next(number for number, one in enumerate(self.receivers) if one.id == leader.receiver)
