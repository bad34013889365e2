"""A protocol whose sender says what it will send, and begins behind what all its receivers have already (ours).

A receiver that may have something asks before it joins, and keeps the session's packets from the protocol until the
sender has heard how much it has. The protocol knows nothing of it. Who does not ask has nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

from hosts.endpoint import (
    Address,
    Datagram,
    DatagramRun,
    Effect,
    Offered,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    ReceiverEndpoint,
    Send,
    SenderEndpoint,
    SessionStarted,
)
from hosts.parts.wrapping import WrappedReceiver, WrappedSender
from hosts.protocol import Protocol, Session
from hosts.wire.contents import MOST_BYTES
from hosts.wire.header import HEADER, VERSION, PacketError
from hosts.wire.offers import PADDING_BYTES, PIECE_BYTES, Ask, Held, Offer, Offers, Type, kind_of, offers

OptionsT = TypeVar("OptionsT")

AGAIN_S: Final = 0.25
"""After so long without an answer the receiver asks again (ours: more than a round trip)."""
TRIES: Final = 8
"""Then it joins like any other: two seconds without an answer are a sender's that has none (ours)."""
MOST_HOLDERS: Final = 1 << 16
"""Receivers whose words are remembered (ours)."""


class OfferingSender(WrappedSender):
    """A sender that answers."""

    def __init__(self, core: SenderEndpoint, packets: Offers) -> None:
        super().__init__(core)
        self._packets = packets
        self._content = b""
        self._size = 0
        self._held: dict[Address, int] = {}
        self._joined: set[Address] = set()
        self._begun = False

    def offer(self, content: bytes, size: int) -> None:
        self._content = content
        self._size = size

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        kind = kind_of(datagram.data, self._packets.number)
        if kind is None:
            return super().receive(datagram, now=now)
        version, _, _, flags, session = HEADER.unpack_from(datagram.data)
        if version != VERSION or session != self.session_id or not self._content:
            return ()
        try:
            if kind == Type.ASK:
                return self._answer(self._packets.ask.decode(datagram.data, kind, flags, session), datagram.source)
            if kind == Type.HELD:
                return self._hear(self._packets.held.decode(datagram.data, kind, flags, session), datagram.source)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] = self.counters.get(f"drop_{error.reason}", 0) + 1
        return ()

    def _answer(self, ask: Ask, source: Address) -> Sequence[Effect]:
        if len(ask.padding) < PADDING_BYTES or ask.at >= len(self._content):
            return ()
        piece = self._content[ask.at : ask.at + PIECE_BYTES]
        return (Send(self._packets.offer.encode(Offer(ask.session, ask.at, len(self._content), piece)), source),)

    def _hear(self, held: Held, source: Address) -> Sequence[Effect]:
        if held.size > self._size or (len(self._held) >= MOST_HOLDERS and source not in self._held):
            return ()
        if not self._begun:
            self._held[source] = held.size
        return (Send(self._packets.held.encode(held._replace(heard=True)), source),)

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        """Who takes part when data begin to flow, and what all of them have then."""
        if self._begun:
            return effects
        watched: list[Effect] = []
        for effect in effects:
            if isinstance(effect, PeerJoined):
                self._joined.add(effect.peer)
            elif isinstance(effect, PeerDropped | PeerFinished):
                self._joined.discard(effect.peer)
            elif isinstance(effect, SessionStarted):
                self._begun = True
                held = min((self._held.get(peer, 0) for peer in self._joined), default=0)
                self._held.clear()
                watched.append(SessionStarted(effect.peer, held))
                continue
            watched.append(effect)
        return watched

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        if kind_of(run.data, self._packets.number) is None:
            return super().receive_run(run, now=now)
        return SenderEndpoint.receive_run(self, run, now=now)


class AskingReceiver(WrappedReceiver):
    """A receiver that asks before it joins."""

    def __init__(self, core: ReceiverEndpoint, session: Session, packets: Offers) -> None:
        super().__init__(core)
        self.state = "listening"
        """listening, asking, offered (the application looks at what is here), telling, through."""
        self._session = session
        self._packets = packets
        self._sender: Address | None = None
        self._number = 0
        self._content = bytearray()
        self._total: int | None = None
        self._size = 0
        self._again_at: float | None = None
        self._tries = 0

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.state == "through":
            return self.core.receive(datagram, now=now)
        if self.state == "listening":
            return self._begin(datagram, now)
        kind = kind_of(datagram.data, self._packets.number)
        if kind is None or datagram.source != self._sender:
            return ()
        version, _, _, flags, session = HEADER.unpack_from(datagram.data)
        if (version, session) != (VERSION, self._number):
            return ()
        try:
            if kind == Type.OFFER and self.state == "asking":
                return self._offered(self._packets.offer.decode(datagram.data, kind, flags, session), now)
            if kind == Type.HEARD and self.state == "telling":
                heard = self._packets.held.decode(datagram.data, kind, flags, session)
                self.state = "through" if heard.size == self._size else self.state
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] = self.counters.get(f"drop_{error.reason}", 0) + 1
        return ()

    def _begin(self, datagram: Datagram, now: float) -> Sequence[Effect]:
        session = self._session
        if datagram.destination != session.group or not session.admits(datagram.source) or len(datagram.data) < 8:
            return ()
        version, protocol, _, _, number = HEADER.unpack_from(datagram.data)
        if (version, protocol) != (VERSION, self._packets.number) or session.session not in (None, number):
            return ()
        self.state = "asking"
        self._sender, self._number = datagram.source, number
        return self._send(now)

    def _send(self, now: float) -> Sequence[Effect]:
        assert self._sender is not None
        self._again_at = now + AGAIN_S
        if self.state == "asking":
            data = self._packets.ask.encode(Ask(self._number, len(self._content)))
        else:
            data = self._packets.held.encode(Held(self._number, self._size, heard=False))
        return (Send(data, self._sender),)

    def _offered(self, offer: Offer, now: float) -> Sequence[Effect]:
        wrong = offer.at != len(self._content) or self._total not in (None, offer.total) or offer.total > MOST_BYTES
        if wrong or not offer.piece or offer.at + len(offer.piece) > offer.total:
            return ()
        self._total = offer.total
        self._content += offer.piece
        self._tries = 0
        if len(self._content) < offer.total:
            return self._send(now)
        self.state = "offered"
        content = bytes(self._content)
        self._content.clear()
        return (Offered(content),)

    def holds(self, size: int, *, now: float) -> Sequence[Effect]:
        if self.state != "offered":
            return ()
        self.state = "telling"
        self._size = size
        return self._send(now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        if self.state == "through":
            return super().receive_run(run, now=now)
        return ReceiverEndpoint.receive_run(self, run, now=now)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects = list(self.core.handle_timer(now=now))
        if self.state in ("asking", "telling") and self._again_at is not None and now >= self._again_at:
            self._tries += 1
            if self._tries < TRIES:
                effects += self._send(now)
            else:
                self.state = "through"
        return effects

    @property
    def wake_at(self) -> float | None:
        if self.state not in ("asking", "telling"):
            return self.core.wake_at
        times = [at for at in (self.core.wake_at, self._again_at) if at is not None]
        return min(times, default=None)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self.state = "through"
        return self.core.close(now=now, reason=reason)


def with_offers(protocol: Protocol[OptionsT], *, ask: bool) -> Protocol[OptionsT]:
    """The protocol with senders that answer and, if they shall `ask`, receivers that do."""
    if not (protocol.knows_receivers and protocol.carries_files):
        return protocol
    packets = offers(protocol.number)

    def sender(session: Session, options: OptionsT, rng: random.Random) -> SenderEndpoint:
        return OfferingSender(protocol.make_sender(session, options, rng), packets)

    def receiver(session: Session, options: OptionsT, rng: random.Random) -> ReceiverEndpoint:
        core = protocol.make_receiver(session, options, rng)
        return AskingReceiver(core, session, packets) if ask else core

    return replace(protocol, make_sender=sender, make_receiver=receiver)
