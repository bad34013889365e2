"""`python -m topologies.emulation.stranger ORDER`: a host that has no keys, hears what its interface shows it, and upon
SIGUSR1 sends an attack's packets (`topologies/forging.py`) from any address.

It joins the group as any host may, and listens to all that passes: in a LAN in which everybody hears everybody that is
all of a session, behind P4 switches what goes to the group. Who hears no feedback to make its own of takes what a
receiver of its own would say, which it does not let out. It says that it listens, and at its end what it has heard and
sent, a line of JSON each.
"""

import contextlib
import json
import random
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from hosts import protocols
from hosts.endpoint import Address, Datagram, Endpoint, Send
from hosts.protocol import Session
from topologies.forging import BEFORE, OWN_PORT, Heard, forged
from topologies.swallowing import AGENT, Swallower, has_agents

_ETH_P_IP: Final = 0x0800
_PACKET_OUTGOING: Final = 4
_PACKET_ADD_MEMBERSHIP: Final = 1
_PACKET_MR_PROMISC: Final = 1
_SOL_PACKET: Final = 263
"""linux/if_ether.h, if_packet.h, socket.h."""
_IP_ADD_SOURCE_MEMBERSHIP: Final = 39
"""linux/in.h."""
_UDP: Final = 17
_MOST_BYTES: Final = 65_535
_TTL: Final = 64
_TICK_S: Final = 0.01
_PATIENCE_S: Final = 1.0
"""After so long a stranger that hears no feedback sends what it does hear in its place (ours)."""


@dataclass(frozen=True)
class Order:
    """What a stranger is told; nothing of it is secret."""

    protocol: str
    session: int
    group: tuple[str, int]
    sender: tuple[str, int]
    receivers: list[tuple[str, int]]
    is_source_specific: bool
    forgery: str
    seed: int
    address: str
    """Its own, in the dotted form."""
    interface: str


@dataclass
class Ears:
    """What has been heard of a session."""

    order: Order
    packets: int = 0
    datagrams: dict[Address, Datagram] = field(default_factory=dict)
    """What came last to each member."""

    def hear(self, datagram: Datagram) -> bool:
        """Whether it is of the session."""
        members = [Address(*one) for one in (self.order.sender, *self.order.receivers)]
        if datagram.destination == Address(*self.order.group):
            reached = members[1:]
        elif datagram.destination in members:
            reached = [datagram.destination]
        else:
            return False
        self.packets += 1
        self.datagrams.update(dict.fromkeys(reached, datagram))
        return True


class Mimic:
    """A receiver that hears what the stranger hears; what it says goes nowhere, but for one that serves others."""

    def __init__(self, order: Order) -> None:
        source = order.sender[0] if order.is_source_specific else None
        session, rng = Session(Address(*order.group), source, order.session), random.Random(order.seed)
        protocol = protocols.get(order.protocol)
        self.serves = order.forgery == AGENT and has_agents(order.protocol)
        self._endpoint: Endpoint = (
            Swallower(protocol, session, rng) if self.serves else protocol.receiver(session, rng, {})
        )
        self._own = Address(order.address, OWN_PORT)
        self._endpoint.place(self._own)
        self._sender = Address(*order.sender)
        self.said: Datagram | None = None
        """What it last had to say to the sender."""
        self.unsent: list[Datagram] = []
        """What it says to anybody, where it serves others."""
        self._note(self._endpoint.start(now=time.monotonic()))

    def hear(self, datagram: Datagram) -> None:
        """A packet that came."""
        self._note(self._endpoint.receive(datagram, now=time.monotonic()))

    def tick(self) -> None:
        """Time has passed."""
        now, due = time.monotonic(), self._endpoint.wake_at
        if due is not None and due <= now:
            self._note(self._endpoint.handle_timer(now=now))

    def _note(self, effects: Iterable[Any]) -> None:
        for effect in effects:
            if isinstance(effect, Send) and self.serves:
                self.unsent.append(Datagram(effect.data, self._own, effect.destination))
            elif isinstance(effect, Send) and effect.destination == self._sender:
                self.said = Datagram(effect.data, Address("0.0.0.0", OWN_PORT), self._sender)


def parse(packet: bytes) -> Datagram | None:
    """The UDP datagram in an IPv4 packet; None: it is none, or a part of one."""
    if len(packet) < 28 or packet[0] >> 4 != 4 or packet[9] != _UDP:
        return None
    fragment, start = struct.unpack_from("!H", packet, 6)[0], 4 * (packet[0] & 0xF)
    if fragment & 0x3FFF or len(packet) < start + 8:
        return None
    source_port, port, length = struct.unpack_from("!HHH", packet, start)
    source, destination = (socket.inet_ntoa(packet[at : at + 4]) for at in (12, 16))
    return Datagram(packet[start + 8 : start + length], Address(source, source_port), Address(destination, port))


def build(datagram: Datagram) -> bytes:
    """The IPv4 packet that has it, with its checksums; whose source it names is as the datagram says."""
    head = IP(src=datagram.source.host, dst=datagram.destination.host, ttl=_TTL)
    return bytes(head / UDP(sport=datagram.source.port, dport=datagram.destination.port) / Raw(datagram.data))


def listening(interface: str) -> socket.socket:
    """A socket that gets all IPv4 packets of an interface, from the IPv4 header on. OSError without root."""
    ears = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_IP))
    ears.bind((interface, _ETH_P_IP))
    request = struct.pack("IHH8s", socket.if_nametoindex(interface), _PACKET_MR_PROMISC, 0, b"")
    ears.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, request)
    ears.setblocking(False)
    return ears


def joined(order: Order) -> socket.socket:
    """A socket that is a member of the session's group as long as it is open. OSError."""
    member = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    member.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    member.bind(("", OWN_PORT))  # or the kernel says that nobody is there
    group, own = socket.inet_aton(order.group[0]), socket.inet_aton(order.address)
    if order.is_source_specific:
        member.setsockopt(socket.IPPROTO_IP, _IP_ADD_SOURCE_MEMBERSHIP, group + own + socket.inet_aton(order.sender[0]))
    else:
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + own)
    return member


def speaking() -> socket.socket:
    """A socket that sends whole IPv4 packets, from whatever source. OSError without root."""
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


class Stranger:
    """Hears, and forges once it is told to and has heard enough."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._ears = Ears(order)
        self._mimic = Mimic(order)
        self._rng = random.Random(order.seed)
        self._told_at: float | None = None

    def is_told(self) -> None:
        """It is to attack."""
        self._told_at = time.monotonic()

    def hear(self, datagram: Datagram) -> None:
        """What passed."""
        is_told = datagram.destination == Address(self._order.address, OWN_PORT) and self._mimic.serves
        if is_told or (self._ears.hear(datagram) and datagram.destination == Address(*self._order.group)):
            self._mimic.hear(datagram)

    def attack(self) -> list[Datagram] | None:
        """The packets, once; None: not yet."""
        self._mimic.tick()
        if self._told_at is None:
            return None
        if self._mimic.serves:
            unsent, self._mimic.unsent = self._mimic.unsent, []
            return unsent
        heard = self._heard()
        if heard.data is None and self._order.forgery not in BEFORE:
            return None  # the session is not under way
        if heard.sender not in heard.datagrams:
            said = self._mimic.said
            if said is None and time.monotonic() > self._told_at + _PATIENCE_S:
                said = heard.data
            if said is not None:
                heard.datagrams[heard.sender] = said._replace(source=heard.own, destination=heard.sender)
        return forged(self._order.forgery, heard)

    @property
    def goes_on(self) -> bool:
        """Whether it has more to say, as long as it is there."""
        return self._mimic.serves

    @property
    def packets(self) -> int:
        """That it has heard of the session."""
        return self._ears.packets

    def _heard(self) -> Heard:
        order = self._order
        return Heard(
            protocols.get(order.protocol),
            order.session,
            Address(*order.group),
            Address(*order.sender),
            [Address(*one) for one in order.receivers],
            dict(self._ears.datagrams),
            self._rng,
            Address(order.address, OWN_PORT),
        )


def main(text: str) -> None:
    """See the module; ends with SIGTERM at the latest."""
    words = json.loads(text)
    pairs = {name: tuple(words[name]) for name in ("group", "sender")}
    order = Order(**{**words, **pairs, "receivers": [tuple(one) for one in words["receivers"]]})
    stranger, sent, at = Stranger(order), 0, None
    signal.signal(signal.SIGUSR1, lambda *_: stranger.is_told())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with (
            listening(order.interface) as ears,
            joined(order),
            speaking() as mouth,
            selectors.DefaultSelector() as ready,
        ):
            ready.register(ears, selectors.EVENT_READ)
            print(json.dumps({"listens": order.interface}), flush=True)
            packets: list[Datagram] | None = None
            while packets is None or stranger.goes_on:
                ready.select(_TICK_S)
                _listen(ears, stranger)
                packets = stranger.attack()
                at = at or (None if packets is None else time.time())
                for one in packets or ():
                    with contextlib.suppress(OSError):  # no room, or nobody is there
                        mouth.sendto(build(one), (one.destination.host, 0))
                        sent += 1
    finally:
        print(json.dumps({"forgery": order.forgery, "heard": stranger.packets, "sent": sent, "at": at}), flush=True)


def _listen(ears: socket.socket, stranger: Stranger) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            packet, place = ears.recvfrom(_MOST_BYTES)
            if place[2] != _PACKET_OUTGOING and (datagram := parse(packet)) is not None:
                stranger.hear(datagram)


if __name__ == "__main__":
    main(sys.argv[1])
