from typing import Any

import pytest
from hypothesis import strategies as st

from hosts.protocols.vlmcc.packets import (
    DATA_BYTES,
    NUMBER,
    Ack,
    Challenge,
    Data,
    Report,
    Start,
    StartRequest,
    encode_abort,
    encode_ack,
    encode_challenge,
    encode_data,
    encode_leave,
    encode_report,
    encode_start,
    encode_start_request,
    packet_bytes,
    parse,
    parse_data,
)
from hosts.wire.farewell import Abort, Leave
from hosts.wire.header import PacketError
from tests.hosts.codec import Codec, encoded, positive, reasons, u8, u16, u32, u64

datas = st.builds(Data, u32, u8, u32, u32, u32, u32, u64, u64, u16, st.binary(max_size=64))
challenges = st.builds(
    Challenge, u32, positive, positive, positive, positive, positive, u32, u64, st.booleans(), st.booleans()
)
acks = st.builds(Ack, u32, positive, u32, u64)
packets = st.one_of(
    encoded(datas, encode_data),
    encoded(acks, encode_ack),
    encoded(st.builds(Report, u32, positive, u32, u64, u32, u32, u16), encode_report),
    encoded(challenges, encode_challenge),
    encoded(st.builds(StartRequest, u32, positive, u64), encode_start_request),
    encoded(st.builds(Start, u32, positive, u32, u32, u32, u32, u32, u64, u64), encode_start),
    encoded(st.builds(Leave, u32, positive, reasons), encode_leave),
    encoded(st.builds(Abort, u32, reasons), lambda packet: encode_abort(*packet)),
)
CODEC = Codec(NUMBER, parse, parse_data, Data, packets)


def _fields_are(data: bytes, *expected: tuple[int, int, int]) -> None:
    for offset, length, value in expected:
        assert int.from_bytes(data[offset : offset + length], "big") == value


def test_fields_are_where_a_switch_reads_them() -> None:
    data = encode_data(Data(7, 3, 5, 9, 1000, 20_000, 12, 13, 2, b"abc"))
    assert data[:4] == bytes((1, 5, 1, 3))
    _fields_are(
        data, (4, 4, 7), (8, 4, 5), (12, 4, 9), (16, 4, 1000), (20, 4, 20_000), (24, 8, 12), (32, 8, 13), (40, 2, 3)
    )
    _fields_are(data, (42, 2, 2))
    assert data[DATA_BYTES:] == b"abc"
    challenge = encode_challenge(Challenge(7, 9, 1000, 2000, 30_000, 20_000, 5, 12))
    assert challenge[:4] == bytes((1, 5, 3, 0))
    _fields_are(challenge, (8, 4, 9), (12, 4, 1000), (16, 4, 2000), (20, 4, 30_000), (24, 4, 20_000), (28, 4, 5))
    _fields_are(challenge, (32, 8, 12))


@pytest.mark.parametrize("field", ["receiver", "rate", "cwnd", "rtt_us", "base_rtt_us"])
def test_a_challenge_without_a_value_is_none(field: str) -> None:
    zero: dict[str, Any] = {field: 0}
    challenge = Challenge(7, 9, 1, 1, 1, 1, 5, 12)._replace(**zero)
    with pytest.raises(PacketError, match="value"):
        parse(encode_challenge(challenge))


def test_values_out_of_range_travel_as_the_nearest_ones() -> None:
    crowd = parse(encode_data(Data(7, 0, 0, 0, 0, 0, 0, 0, 100_000, b"")))
    assert isinstance(crowd, Data)
    assert crowd.receivers == 65_535


def test_the_packet_size_counts_the_headers() -> None:
    assert packet_bytes(1400) == 1400 + DATA_BYTES + 28
