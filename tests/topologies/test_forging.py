"""What a stranger makes of what it has heard."""

import random
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, Send
from hosts.protocol import Session
from hosts.protocols.mtcp.packets import Data, encode_data, parse
from hosts.protocols.mtcp.tree_packets import Join, encode_abort, encode_fin
from hosts.protocols.vlmcc.packets import Type
from hosts.protocols.webrc.flute.fdt import parse_fdt
from hosts.protocols.webrc.packets import FDT_TOI, OBJECT_TOI
from hosts.protocols.webrc.packets import parse as parse_alc
from hosts.wire.farewell import Abort
from hosts.wire.format import Format, by_kind
from hosts.wire.header import HEADER
from hosts.wire.reason import Reason
from topologies.forging import ABSURD, FAR, MANY, OWN_RECEIVER, STRANGER, Heard, forge

GROUP, SENDER = Address("239.1.1.1", 5000), Address("10.0.0.1", 10000)
ONE, TWO = Address("10.0.0.2", 10000), Address("10.0.0.3", 10000)
DATA = Datagram(encode_data(7, False, 10, 1, 14000, bytes(1400)), SENDER, GROUP)
SAID = Datagram(encode_abort(7, Reason.NONE), ONE, SENDER)


def read(data: bytes) -> tuple[int, int, int]:
    """Kind, flags and session."""
    _, _, kind, flags, session = HEADER.unpack_from(data)
    return kind, flags, session


def heard(datagrams: dict[Address, Datagram]) -> Heard:
    return Heard(protocols.get("mtcp"), 7, GROUP, SENDER, [ONE, TWO], datagrams, random.Random(1))


@pytest.mark.parametrize(("attack", "seq", "end"), [("data", 11, False), ("end", 11, True), ("far", 10 + FAR, False)])
def test_data_that_the_sender_never_sent(attack: str, seq: int, end: bool) -> None:
    forged = forge(attack, heard({ONE: DATA, SENDER: SAID}))
    assert forged is not None
    assert [to for to, _ in forged] == [ONE, TWO]
    packet = parse(forged[0][1].data)
    assert isinstance(packet, Data)
    assert (packet.seq, packet.offset, packet.end, len(packet.payload)) == (seq, 1400 * seq, end, 1400)
    assert packet.payload[-1] == 0xFF
    assert forge(attack, heard({SENDER: SAID})) is None, "it has to hear some first"


def test_of_sealed_data_it_changes_bytes() -> None:
    sealed = DATA._replace(data=bytes([2]) + DATA.data[1:])
    forged = forge("end", heard({ONE: sealed}))
    assert forged is not None
    assert forged[0][1].data[:20] == sealed.data[:20]
    assert forged[0][1].data != sealed.data


def test_farewells_in_others_names() -> None:
    abort, fin = encode_abort(7, Reason.INTERRUPTED), encode_fin(7, False, False, Reason.INTERRUPTED)
    both = [(ONE, Datagram(abort, SENDER, GROUP)), (TWO, Datagram(abort, SENDER, GROUP))]
    assert forge("abort", heard({})) == both
    assert forge("abort-one", heard({})) == [(ONE, Datagram(abort, SENDER, ONE))]
    assert forge("leave", heard({})) == [(SENDER, Datagram(fin, ONE, SENDER))]


def test_many_packets() -> None:
    told = heard({ONE: DATA, SENDER: SAID})
    replayed, reports, garbage = (forge(attack, told) for attack in ("replay", "reports", "garbage"))
    assert replayed is not None
    assert reports is not None
    assert garbage is not None
    assert {(to, one.data) for to, one in replayed} == {(ONE, DATA.data), (SENDER, SAID.data)}
    assert {one.source for _, one in replayed} == {SENDER, ONE, STRANGER}
    assert {(to, one.source) for to, one in reports} == {(SENDER, STRANGER)}
    assert (len(reports), len(garbage)) == (MANY, 2 * MANY)
    assert forge("replay", heard({})) is None
    assert forge("reports", heard({ONE: DATA})) is None


def test_as_many_join_as_there_are_receivers() -> None:
    assert forge("join", heard({SENDER: SAID})) is None, "it has to hear the sender first"
    forged = forge("join", heard({ONE: DATA}))
    assert forged is not None
    assert {to for to, _ in forged} == {SENDER}
    assert [one.source for _, one in forged] == [STRANGER, STRANGER._replace(port=STRANGER.port + 1)]
    packets = [parse(one.data) for _, one in forged]
    assert all(isinstance(packet, Join) and packet.session == 7 and packet.from_start for packet in packets)


@pytest.mark.parametrize("protocol", ["tfmcc", "arbor"])
def test_one_that_joins_says_of_itself_what_a_receiver_said(protocol: str) -> None:
    of = protocols.get(protocol)
    told = heard({})._replace(protocol=of)
    blocks = told.format("BLOCKS")
    assert blocks is not None
    make: Any = blocks.make
    said = make(session=7, receiver=3, seq=5, delivered=1, needs=())
    told.datagrams[SENDER] = Datagram(blocks.encode(said), ONE, SENDER)
    forged = forge("claim", told)
    assert forged is not None
    (_, join), (_, claim) = forged
    assert join.source == claim.source == STRANGER
    assert claim.data == blocks.encode(said._replace(receiver=OWN_RECEIVER))


def test_where_nobody_joins_or_all_is_sealed_it_says_what_it_can() -> None:
    sealed = SAID._replace(data=bytes([2]) + SAID.data[1:])
    forged = forge("claim", heard({SENDER: sealed})._replace(protocol=protocols.get("vlmcc")))
    assert forged is not None
    assert forged[1][1] == Datagram(sealed.data, STRANGER, SENDER)


def of_stream(protocol: str) -> Heard:
    """What is heard of a stream whose sender has said something to all."""
    of = protocols.get(protocol)
    sender = of.sender(Session(GROUP, session=7, realtime=protocol != "mtcp"), random.Random(1), {})
    effects = list(sender.start(now=0.0))
    for step in range(200):
        now = step / 100
        if sender.send_space:
            effects += sender.write(bytes(min(1000, sender.send_space)), now=now)
        if sender.wake_at is not None and sender.wake_at <= now:
            effects += sender.handle_timer(now=now)
    said = [one.data for one in effects if isinstance(one, Send) and one.destination == GROUP]
    return heard({ONE: Datagram(said[-1], SENDER, GROUP)})._replace(protocol=of)


@pytest.mark.parametrize(("protocol", "names"), [("tfmcc", ["JOIN", "REPORT"]), ("arbor", ["JOIN", "REPORT"])])
def test_one_that_says_that_it_gets_next_to_nothing(protocol: str, names: list[str]) -> None:
    told = of_stream(protocol)
    forged = forge("slow", told)
    assert forged is not None
    assert {(to, one.source) for to, one in forged} == {(SENDER, STRANGER)}
    formats = by_kind(layout for layout in told.protocol.packets if isinstance(layout, Format))
    packets = [(formats[one.data[2]], formats[one.data[2]].decode(one.data, *read(one.data))) for _, one in forged]
    assert [kind.name for layout, _ in packets for kind in layout.kinds] == names
    assert {packet.receiver for _, packet in packets} == {OWN_RECEIVER}
    assert packets[-1][1].rate == 1


def test_one_that_would_lead_at_next_to_no_rate() -> None:
    forged = forge("slow", of_stream("vlmcc"))
    assert forged is not None
    kinds = [one.data[2] for _, one in forged]
    assert kinds[0] == Type.START_REQUEST
    assert {Type.CHALLENGE, Type.REPORT} <= set(kinds)


def test_files_in_absurd_blocks() -> None:
    forged = forge("description", of_stream("webrc"))
    assert forged is not None
    assert [(to, one.source) for to, one in forged] == [(ONE, SENDER), (TWO, SENDER)]
    packet = parse_alc(forged[0][1].data)
    (file,) = parse_fdt(packet.symbol).files
    assert (packet.toi, file.toi, file.transmission) == (FDT_TOI, OBJECT_TOI, ABSURD)
    assert forge("description", heard({ONE: DATA})) == [], "others have no descriptions"


def test_who_is_not_the_sender_says_what_the_sender_would() -> None:
    forged = forge("outsider", heard({ONE: DATA}))
    assert forged is not None
    assert {one.source for _, one in forged} == {STRANGER}
    assert [type(parse(one.data)) for to, one in forged if to == ONE] == [Data, Abort]
    assert forge("agent", heard({ONE: DATA})) == [], "no packet does it"
