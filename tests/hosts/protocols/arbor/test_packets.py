import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.parts.fec.pieces import MOST_NEEDS, Need
from hosts.protocols.arbor.packets import (
    FIN,
    JOIN,
    LEAVE,
    NUMBER,
    TOLD_DATA,
    WELCOME,
    Blocks,
    Data,
    Join,
    Packet,
    Report,
    ToldData,
    Welcome,
    encode_abort,
    encode_blocks,
    encode_data,
    encode_report,
    encode_told_data,
    parse,
    parse_data,
    parse_told_data,
)
from hosts.wire.farewell import Abort, Leave, MemberFin
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason
from tests.hosts.codec import parse_or_refuse, refuse_a_wrong_length

u8, u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
positive = st.integers(1, 2**32 - 1)
reasons = st.sampled_from(Reason)
reports = st.builds(Report, u32, positive, positive, positive, u32, u32, u64, *[st.booleans()] * 3)
needs = st.lists(st.builds(Need, u32, u16), max_size=MOST_NEEDS).map(tuple)
data = st.builds(Data, u32, u8, u32, u32, u32, u32, u64, u64, u16, st.binary(max_size=64))
packets: st.SearchStrategy[tuple[Packet, bytes]] = st.one_of(
    data.map(lambda packet: (packet, encode_data(packet))),
    st.builds(
        ToldData, u32, u8, u32, u32, u32, u32, u64, u64, u16, st.binary(max_size=64), u32, u32, u32, u16, u8, u8
    ).map(lambda packet: (packet, TOLD_DATA.encode(packet))),
    reports.map(lambda packet: (packet, encode_report(packet))),
    st.builds(Join, u32, positive, u64, u64, u32, st.booleans()).map(lambda packet: (packet, JOIN.encode(packet))),
    st.builds(Welcome, u32, positive, u64, u64, reasons, st.booleans()).map(
        lambda packet: (packet, WELCOME.encode(packet))
    ),
    st.builds(Leave, u32, positive, reasons).map(lambda packet: (packet, LEAVE.encode(packet))),
    st.builds(MemberFin, u32, st.booleans(), st.booleans(), reasons, u32).map(
        lambda packet: (packet, FIN.encode(packet))
    ),
    st.builds(Blocks, u32, u32, u32, u32, needs, st.booleans()).map(lambda packet: (packet, encode_blocks(packet))),
    st.builds(Abort, u32, reasons).map(lambda packet: (packet, encode_abort(*packet))),
)


@settings(deadline=None)
@given(packets)
def test_what_is_encoded_is_parsed(pair: tuple[Packet, bytes]) -> None:
    packet, encoded = pair
    assert parse(encoded) == packet
    assert parse_data(encoded) == (packet if isinstance(packet, Data) else None)
    assert parse_told_data(encoded) == (packet if isinstance(packet, ToldData) else None)


@settings(deadline=None)
@given(data)
def test_at_first_nothing_is_told(packet: Data) -> None:
    assert parse(encode_told_data(packet)) == ToldData(*packet)


@settings(deadline=None)
@given(packets, st.integers(0, 200), st.booleans())
def test_a_wrong_length_is_refused(pair: tuple[Packet, bytes], cut: int, longer: bool) -> None:
    _, encoded = pair
    refuse_a_wrong_length(parse, encoded, cut, longer=longer)


@settings(deadline=None)
@given(st.binary(max_size=120))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    parse_or_refuse(parse, NUMBER, data)


@pytest.mark.parametrize(
    "report", [Report(7, 0, 1, 1, 0, 0, 0), Report(7, 1, 0, 1, 0, 0, 0), Report(7, 1, 1, 0, 0, 0, 0)]
)
def test_a_report_of_nothing_is_refused(report: Report) -> None:
    with pytest.raises(PacketError, match="value"):
        parse(encode_report(report))
