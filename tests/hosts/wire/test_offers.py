"""What is said before a receiver joins, on the wire."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.header import HEADER, MAX_SEALABLE_BYTES, PacketError
from hosts.wire.offers import PIECE_BYTES, Ask, Held, Offer, Type, kind_of, offers

PACKETS = offers(1)


def decode(data: bytes) -> Ask | Offer | Held:
    _, _, kind, flags, session = HEADER.unpack_from(data)
    found = next(one for one in PACKETS.packets if kind in one.kinds)
    packet: Ask | Offer | Held = found.decode(data, kind, flags, session)
    return packet


@pytest.mark.parametrize("packet", [Ask(7, 3), Offer(7, 3, 9, b"abc"), Held(7, 2**40, False), Held(7, 0, True)])
def test_there_and_back(packet: Ask | Offer | Held) -> None:
    found = {Ask: PACKETS.ask, Offer: PACKETS.offer, Held: PACKETS.held}[type(packet)]
    data = found.encode(packet)  # type: ignore[attr-defined]
    assert decode(data) == packet
    assert kind_of(data, 1) in tuple(Type)
    assert kind_of(data, 2) is None


def test_who_asks_in_anothers_name_gains_little() -> None:
    answer = PACKETS.offer.encode(Offer(1, 0, PIECE_BYTES, bytes(PIECE_BYTES)))
    assert len(answer) <= min(3 * len(PACKETS.ask.encode(Ask(1, 0))), MAX_SEALABLE_BYTES)


@given(st.binary(max_size=60), st.sampled_from(Type))
def test_any_bytes(rest: bytes, kind: Type) -> None:
    try:
        decode(struct.pack("!BBBBI", 1, 1, kind, 0, 5) + rest)
    except PacketError:
        return
