"""What a stranger sends into a session, made of what it has heard there: each attack's packets.

It hears all, sends from any address, and has no keys. Nothing in a plain LAN keeps it from that; P4 switches drop what
comes from another port than its source's, so behind them only what it sends from its own address arrives. A simulation
gives the packets to whom they are for (`topologies/simulation/session_run.py`), in an emulation a program of a host of
its own sends them (`topologies/emulation/stranger.py`).
"""

import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from hosts.endpoint import Address, Datagram
from hosts.protocol import Protocol
from hosts.protocols.webrc.flute.fdt import FdtInstance, FileEntry, encode_fdt
from hosts.protocols.webrc.flute.transmission import MOST_RAPTORQ_SYMBOLS, Transmission
from hosts.protocols.webrc.packets import FDT_TOI, LCT_VERSION, NO_CODE, OBJECT_TOI, RAPTORQ
from hosts.protocols.webrc.packets import encode as encode_lct
from hosts.protocols.webrc.packets import parse as parse_lct
from hosts.wire.farewell import Abort, Fin
from hosts.wire.format import Format, by_kind
from hosts.wire.header import HEADER, HEADER_BYTES, VERSION
from hosts.wire.reason import Reason
from topologies.scenario.activity import Forgery
from topologies.swallowing import AGENT

BEFORE: Final[frozenset[Forgery]] = frozenset({"announcement", "join", "agent"})
"""Comes before the session, the others into the middle of it."""
PARTS: Final[dict[Forgery, tuple[Forgery, ...]]] = {"claim": ("join", "claim"), "slow": ("join", "slow")}
"""An attack that has several, each at its time."""
OWN_PORT: Final = 7000
STRANGER: Final = Address("10.255.255.254", OWN_PORT)
"""Its own address in a simulation."""
MANY: Final = 100
"""Packets of an attack that is not a single one (ours)."""
FAR: Final = 300
"""Packets that `far` is ahead: within the reach of any protocol's receivers (ours)."""
OWN_RECEIVER: Final = 0x57A00001
"""The id of the first receiver that the stranger says it is, where receivers have ids."""
WINDOW: Final = 1 << 24
"""Bytes of its buffer, as it says."""
OTHER_SESSION: Final = 0x7A7A7A7A
"""The session that `announcement` announces."""
DATA: Final = "DATA"
ANNOUNCE: Final = "ANNOUNCE"
JOINS: Final = ("JOIN", "START_REQUEST")
FEEDBACK: Final = frozenset({"ACK", "REPORT", "CHALLENGE"})
"""Names of formats."""
SLOW_RTT_US: Final = 500_000
"""Of one that says that it gets next to nothing: half a second away (ours)."""
ABSURD: Final = Transmission(RAPTORQ, 255 * MOST_RAPTORQ_SYMBOLS * 1024, 1024, z=255)
"""What a `description` has of a file: 14 GB in as many blocks as there may be, each as large as it may be."""


class Heard(NamedTuple):
    """A session as the stranger knows it."""

    protocol: Protocol[Any]
    session: int
    group: Address
    sender: Address
    receivers: list[Address]
    datagrams: dict[Address, Datagram]
    """What came last to each of its members."""
    rng: random.Random
    own: Address = STRANGER
    """The stranger's own address."""

    @property
    def data(self) -> Datagram | None:
        """Something that the sender said to all; None: not heard."""
        return next(
            (one for one in self.datagrams.values() if one.destination == self.group and self._is_data(one.data)), None
        )

    def _is_data(self, data: bytes) -> bool:
        headed = any(isinstance(layout, Format) for layout in self.protocol.packets)
        return not headed or self.format(DATA) is None or data[2:3] == bytes([int(self._kind(DATA))])

    def format(self, name: str) -> Format[Any] | None:
        """The protocol's packet of that name."""
        formats = (layout for layout in self.protocol.packets if isinstance(layout, Format))
        return next((one for one in formats if name in [kind.name for kind in one.kinds]), None)

    def _kind(self, name: str) -> int:
        found = self.format(name)
        assert found is not None
        return int(next(kind for kind in found.kinds if kind.name == name))


def forge(attack: str, heard: Heard) -> list[tuple[Address, Datagram]] | None:
    """An attack's packets and whom they reach; empty: the protocol has no such packets. None: the stranger must hear
    more first."""
    if attack == "replay":  # to whom it has come: what is still on its way to others would only come sooner
        return list(_replayed(heard)) or None
    made = forged(attack, heard)
    if made is None:
        return None
    return [
        (to, one) for one in made for to in (heard.receivers if one.destination == heard.group else [one.destination])
    ]


def forged(attack: str, heard: Heard) -> list[Datagram] | None:
    """The packets alone, each once: whom they reach is the network's."""
    if attack == "replay":
        return [one for _, one in _replayed(heard)] or None
    if attack in ("data", "end", "far", "description", "outsider", "slow"):
        data = heard.data
        return None if data is None else list(_MADE_OF_DATA.get(attack, _data)(attack, heard, data))
    if attack == AGENT:  # it is no packet that does it (swallowing.py)
        return []
    if attack == "garbage":
        return [Datagram(_garbage(heard), heard.sender, heard.group) for _ in range(MANY)]
    if attack == "reports":
        said = heard.datagrams.get(heard.sender)
        return None if said is None else [_report(heard, said) for _ in range(MANY)]
    if attack == "announcement":
        return list(_announcement(heard))
    if attack == "join":
        is_there = any(one.source == heard.sender for one in heard.datagrams.values())
        return [_join(heard, number) for number in range(len(heard.receivers))] if is_there else None
    if attack == "claim":
        said = heard.datagrams.get(heard.sender)
        return None if said is None else [_join(heard, 0), _claim(heard, said)]
    return list(_farewell(attack, heard))


def _replayed(heard: Heard) -> Iterator[tuple[Address, Datagram]]:
    for to, one in heard.datagrams.items():
        for _ in range(MANY // len(heard.datagrams)):
            yield to, one._replace(source=_anybody(heard, one))


def _data(attack: str, heard: Heard, datagram: Datagram) -> Iterator[Datagram]:
    """The packet after the one that was heard, with other bytes; with `end` the stream's last, with `far` far ahead."""
    found = heard.format(DATA)
    octets = datagram.data
    if found is None and octets[0] >> 4 == LCT_VERSION:
        yield datagram._replace(data=_of_lct(attack, octets))
        return
    if octets[0] != VERSION or found is None:  # sealed: other bytes is all it can do
        half = len(octets) // 2
        yield datagram._replace(data=octets[:half] + bytes(octet ^ 0xFF for octet in octets[half:]))
        return
    _, _, kind, flags, session = HEADER.unpack_from(octets)
    packet: Any = by_kind([found])[kind].decode(octets, kind, flags, session)
    ahead = FAR if attack == "far" else 1
    size = len(packet.payload)
    half = size // 2
    wrong = packet.payload[:half] + bytes(octet ^ 0xFF for octet in packet.payload[half:])
    packet = packet._replace(
        seq=(packet.seq + ahead) % 2**32, offset=(packet.offset + ahead * size) % 2**48, payload=wrong
    )
    made = bytearray(found.encode(packet))
    if attack == "end":
        made[3] |= next(flag.mask for flag in found.flags if flag.name == "end")
    yield datagram._replace(data=bytes(made))


def _of_lct(attack: str, octets: bytes) -> bytes:
    """The same of an LCT packet (RFC 5651): PSN, the flag that ends a session, the symbol's bytes."""
    packet = parse_lct(octets)
    wrong = bytes(octet ^ 0xFF for octet in packet.symbol)
    psn = packet.psn + (FAR if attack == "far" else 1)
    changed = packet._replace(psn=psn % 2**16, symbol=wrong, payload_id=packet.payload_id + 1, closes=attack == "end")
    return encode_lct(changed)


def _description(attack: str, heard: Heard, datagram: Datagram) -> Iterator[Datagram]:
    """An FDT instance (RFC 6726): the session's file is another one, in blocks that no receiver has room for."""
    octets = datagram.data
    if octets[0] >> 4 != LCT_VERSION:  # it is sealed, or no protocol with descriptions
        return
    file = FileEntry(OBJECT_TOI, "absurd", ABSURD.length, ABSURD)
    document = encode_fdt(FdtInstance([file], is_complete=True, is_full=True))
    fti = Transmission(NO_CODE, len(document), len(document), 1).encode()
    told = parse_lct(octets)._replace(toi=FDT_TOI, encoding=NO_CODE, payload_id=0, symbol=document, fti=fti)
    yield datagram._replace(data=encode_lct(told._replace(fdt_instance=1)))


def _outsider(attack: str, heard: Heard, datagram: Datagram) -> Iterator[Datagram]:
    """What has the stranger's own address, and says that it is the sender's."""
    for one in (*_data("data", heard, datagram), *_farewell("abort", heard)):
        yield one._replace(source=heard.own)


def _slow(attack: str, heard: Heard, datagram: Datagram) -> Iterator[Datagram]:
    """One joins at the stranger's own address, and says in each way that there is that it gets next to nothing."""
    yield _join(heard, 0)
    found, octets = heard.format(DATA), datagram.data
    if found is None or octets[0] != VERSION:
        return
    _, _, kind, flags, session = HEADER.unpack_from(octets)
    data: Any = by_kind([found])[kind].decode(octets, kind, flags, session)
    known = {name: getattr(data, name) for name in ("session", "seq", "round") if name in data._fields}
    known |= dict.fromkeys(("time_comp_us", "echo_time_us", "time_us"), data.send_time_us)
    known |= dict.fromkeys(("rtt_us", "base_rtt_us"), SLOW_RTT_US)
    known |= dict.fromkeys(("cwnd", "rate", "min_cwnd", "number", "stands_for", "sack"), 1)
    known |= {"receiver": OWN_RECEIVER, "window": WINDOW, "loss_rate": 1 << 15, "nack": 1, "hurry": 1}
    for layout in heard.protocol.packets:
        names = {one.name for one in layout.kinds} if isinstance(layout, Format) else set()
        make: Any = layout.make
        if isinstance(layout, Format) and names & FEEDBACK and {"receiver", "window"} & set(make._fields):
            measured = sum(flag.mask for flag in layout.flags if flag.name in ("have_rtt", "have_loss"))
            packet = make(**{name: known.get(name, measured if name == "flags" else 0) for name in make._fields})
            yield Datagram(layout.encode(packet), heard.own, heard.sender)


_MADE_OF_DATA: Final = {"description": _description, "outsider": _outsider, "slow": _slow}


def _farewell(attack: str, heard: Heard) -> Iterator[Datagram]:
    """The sender's abort to all or to one receiver; a receiver's to the sender."""
    heard_data = heard.data
    if heard_data is not None and heard_data.data[0] >> 4 == LCT_VERSION and attack != "leave":
        to = heard.group if attack == "abort" else heard.receivers[0]
        yield Datagram(_of_lct("end", heard_data.data), heard.sender, to)
        return
    made = [layout for layout in heard.protocol.packets if isinstance(layout, Format)]
    aborts = [one.encode(Abort(heard.session, Reason.INTERRUPTED)) for one in made if one.make is Abort]
    if attack == "abort":
        yield from (Datagram(data, heard.sender, heard.group) for data in aborts)
    elif attack == "abort-one":
        yield from (Datagram(data, heard.sender, heard.receivers[0]) for data in aborts)
    else:
        fins = [one.encode(Fin(heard.session, False, False, Reason.INTERRUPTED)) for one in made if one.make is Fin]
        yield from (Datagram(data, heard.receivers[0], heard.sender) for data in fins or aborts)


def _announcement(heard: Heard) -> Iterator[Datagram]:
    """Of a session that does not exist."""
    found = heard.format(ANNOUNCE)
    if found is not None:
        make: Any = found.make
        rest = {name: 1400 for name in make._fields if name != "session"}
        yield Datagram(found.encode(make(session=OTHER_SESSION, **rest)), heard.sender, heard.group)


def _join(heard: Heard, number: int) -> Datagram:
    """Somebody joins at the stranger's own address."""
    found = next((made for name in JOINS if (made := heard.format(name)) is not None), None)
    own = heard.own._replace(port=heard.own.port + number)
    if found is None:  # of WEBRC nobody has to join at the sender
        return Datagram(_garbage(heard), own, heard.sender)
    make: Any = found.make
    known = {"session": heard.session, "receiver": OWN_RECEIVER + number, "window": WINDOW, "from_start": 1}
    packet = make(**{name: known.get(name, int(name == "stands_for")) for name in make._fields})
    return Datagram(found.encode(packet), own, heard.sender)


def _claim(heard: Heard, datagram: Datagram) -> Datagram:
    """What a receiver said of itself, said by the stranger of itself."""
    octets = datagram.data
    found = None
    if octets[:1] == bytes([VERSION]) and len(octets) >= HEADER_BYTES:
        _, _, kind, flags, session = HEADER.unpack_from(octets)
        found = by_kind(one for one in heard.protocol.packets if isinstance(one, Format)).get(kind)
    if found is not None:
        packet: Any = found.decode(octets, kind, flags, session)
        if "receiver" in packet._fields:
            octets = found.encode(packet._replace(receiver=OWN_RECEIVER))
    return Datagram(octets, heard.own, heard.sender)


def _report(heard: Heard, datagram: Datagram) -> Datagram:
    """Feedback from a stranger, with some of its numbers the least that there is."""
    data = bytearray(datagram.data)
    for _ in range(3):
        at = heard.rng.randrange(HEADER_BYTES // 4, max(HEADER_BYTES // 4 + 1, len(data) // 4)) * 4
        data[at : at + 4] = bytes(len(data[at : at + 4]))
    return Datagram(bytes(data), heard.own, heard.sender)


def _anybody(heard: Heard, datagram: Datagram) -> Address:
    """The source that it had, or the stranger's."""
    return heard.rng.choice((datagram.source, heard.own))


def _garbage(heard: Heard) -> bytes:
    kind = bytes([heard.rng.choice((VERSION, 2, 0x10)), heard.protocol.number, heard.rng.randrange(20)])
    return kind + heard.rng.randbytes(heard.rng.randrange(100))
