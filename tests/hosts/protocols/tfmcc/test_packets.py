import pytest
from hypothesis import strategies as st

from hosts.protocols.tfmcc.packets import (
    DATA_BYTES,
    NUMBER,
    Announce,
    Data,
    Join,
    JoinAck,
    Report,
    encode_abort,
    encode_announce,
    encode_data,
    encode_fin,
    encode_join,
    encode_join_ack,
    encode_loss_rate,
    encode_report,
    encode_share,
    packet_bytes,
    parse,
    parse_data,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.wire.farewell import Abort, MemberFin
from hosts.wire.header import PacketError
from tests.hosts.codec import Codec, encoded, positive, reasons, u8, u16, u32, u64

rate = st.integers(0, NO_RATE - 1)
suppression = st.integers(0, NO_RATE)
datas = st.builds(
    Data,
    *(u32, u8, u32, u16, rate, suppression, suppression, u8, u32, u32, u64, u32, u64, u64),
    st.binary(max_size=64),
    u8,
    u16,
    u16,
)
reports = st.builds(Report, u32, u8, positive, u16, rate, u8, u16, rate, u64, u32, u64, u8, u16)
controls = st.one_of(
    encoded(st.builds(Announce, u32, u64), lambda packet: encode_announce(*packet)),
    encoded(st.builds(Join, u32, positive, u64, u32, u64), encode_join),
    encoded(st.builds(JoinAck, u32, reasons, u32, u64, u64), encode_join_ack),
    encoded(st.builds(MemberFin, u32, st.booleans(), st.booleans(), reasons, u32), encode_fin),
    encoded(st.builds(Abort, u32, reasons), lambda packet: encode_abort(*packet)),
)
packets = st.one_of(encoded(datas, encode_data), encoded(reports, encode_report), controls)
CODEC = Codec(NUMBER, parse, parse_data, Data, packets)


def test_fields_are_where_a_switch_reads_them() -> None:
    data = encode_data(Data(7, 0x0E, 5, 3, 0x123, 0x456, 0x789, 0x55, 9, 10, 11, 12, 13, 14, b"abc", 0x66, 0x8888))
    assert data[:4] == bytes((1, 2, 1, 0x0E))
    for offset, length, value in (
        (8, 4, 5),
        (12, 2, 3),
        (14, 2, 0x123),
        (16, 2, 0x456),
        (18, 2, 0x789),
        (20, 1, 0x55),
        (21, 1, 0x66),
        (22, 2, 3),
        (24, 4, 9),
        (28, 4, 10),
        (32, 8, 11),
        (40, 4, 12),
        (44, 2, 0x8888),
        (48, 8, 13),
        (56, 8, 14),
    ):
        assert int.from_bytes(data[offset : offset + length], "big") == value
    assert data[DATA_BYTES:] == b"abc"
    report = encode_report(Report(7, 0x12, 9, 3, 0x123, 0x55, 77, 0x321, 13, 14, 15))
    for offset, length, value in (
        (8, 4, 9),
        (12, 2, 3),
        (14, 2, 0x123),
        (16, 1, 0x55),
        (18, 2, 77),
        (20, 2, 0x321),
        (24, 8, 13),
        (32, 4, 14),
        (36, 8, 15),
    ):
        assert int.from_bytes(report[offset : offset + length], "big") == value
    assert len(report) == 44


@pytest.mark.parametrize("code", [NO_RATE, NO_RATE + 1, 0xFFFF])
def test_a_rate_that_is_none_is_no_report(code: int) -> None:
    with pytest.raises(PacketError, match="value"):
        parse(encode_report(Report(7, 0, 9, 3, code, 0, 0, 0, 0, 0, 0)))


def test_a_loss_rate_is_rounded_up() -> None:
    assert [encode_loss_rate(p) for p in (0.0, 1e-9, 0.5, 1.0)] == [0, 1, 32768, 65535]


def test_a_share_is_below_one_and_no_less_than_a_half() -> None:
    assert [encode_share(share) for share in (1.0, 0.9, 0.5, 0.1)] == [65535, 58982, 32768, 32768]


def test_the_packet_size_counts_the_headers() -> None:
    assert packet_bytes(1400) == 1400 + DATA_BYTES + 28
