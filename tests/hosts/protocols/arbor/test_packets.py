import pytest
from hypothesis import given
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
from tests.hosts.codec import Codec, encoded, positive, reasons, u8, u16, u32, u64

needs = st.lists(st.builds(Need, u32, u16), max_size=MOST_NEEDS).map(tuple)
datas = st.builds(Data, u32, u8, u32, u32, u32, u32, u64, u64, u16, st.binary(max_size=64))
tolds = st.builds(
    ToldData, u32, u8, u32, u32, u32, u32, u64, u64, u16, st.binary(max_size=64), u32, u32, u32, u16, u8, u8
)
packets = st.one_of(
    encoded(datas, encode_data),
    encoded(tolds, TOLD_DATA.encode),
    encoded(st.builds(Report, u32, positive, positive, positive, u32, u32, u64, *[st.booleans()] * 3), encode_report),
    encoded(st.builds(Join, u32, positive, u64, u64, u32, st.booleans()), JOIN.encode),
    encoded(st.builds(Welcome, u32, positive, u64, u64, reasons, st.booleans()), WELCOME.encode),
    encoded(st.builds(Leave, u32, positive, reasons), LEAVE.encode),
    encoded(st.builds(MemberFin, u32, st.booleans(), st.booleans(), reasons, u32), FIN.encode),
    encoded(st.builds(Blocks, u32, u32, u32, u32, needs, st.booleans()), encode_blocks),
    encoded(st.builds(Abort, u32, reasons), lambda packet: encode_abort(*packet)),
)
CODEC = Codec(NUMBER, parse, parse_data, Data, packets)
TOLD = Codec(NUMBER, parse, parse_told_data, ToldData, packets)


@given(datas)
def test_at_first_nothing_is_told(packet: Data) -> None:
    assert parse(encode_told_data(packet)) == ToldData(*packet)


@pytest.mark.parametrize(
    "report", [Report(7, 0, 1, 1, 0, 0, 0), Report(7, 1, 0, 1, 0, 0, 0), Report(7, 1, 1, 0, 0, 0, 0)]
)
def test_a_report_of_nothing_is_refused(report: Report) -> None:
    with pytest.raises(PacketError, match="value"):
        parse(encode_report(report))
