"""Packet-in and packet-out metadata as packed headers."""

import pytest
from finsy.proto import p4r, rpc_code
from hypothesis import given
from hypothesis import strategies as st

from engine.switch.p4runtime.p4info import PacketHeaderInfo, ParamInfo
from engine.switch.p4runtime.packet_io import decode_packet_in, encode_packet_out, packet_header
from tests.engine.entities import refused

INFO = PacketHeaderInfo((ParamInfo(1, "port", 9), ParamInfo(2, "reason", 3), ParamInfo(7, "rest", 12)))
HEADER = packet_header(INFO, {})


def packet_out(metadata: dict[int, bytes], payload: bytes = b"data") -> p4r.PacketOut:
    message = p4r.PacketOut(payload=payload)
    for id_, value in metadata.items():
        message.metadata.add(metadata_id=id_, value=value)
    return message


def test_fields_are_packed_in_the_headers_order() -> None:
    packet = encode_packet_out(packet_out({7: b"\x0a\xbc", 2: b"\x05", 1: b"\x01\x01"}), HEADER)
    assert packet == bytes([0b10000000, 0b11011010, 0b10111100]) + b"data"
    message = decode_packet_in(packet, HEADER)
    assert message is not None
    assert message.payload == b"data"
    assert [(m.metadata_id, m.value) for m in message.metadata] == [(1, b"\x01\x01"), (2, b"\x05"), (7, b"\x0a\xbc")]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({1: b"\x01", 2: b"\x01"}, "'rest' is missing"),
        ({1: b"\x02\0", 2: b"\x01", 7: b"\x01"}, "'port'.*9 bits"),
        ({1: b"", 2: b"\x01", 7: b"\x01"}, "'port'.*empty"),
        ({1: b"\x01", 2: b"\x01", 7: b"\x01", 9: b"\x01"}, "no metadata field has id 9"),
    ],
)
def test_refused_metadata(metadata: dict[int, bytes], reason: str) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, reason):
        encode_packet_out(packet_out(metadata), HEADER)


def test_a_field_twice_is_refused() -> None:
    message = packet_out({1: b"\x01", 2: b"\x01", 7: b"\x01"})
    message.metadata.add(metadata_id=1, value=b"\x01")
    with refused(rpc_code.INVALID_ARGUMENT, "twice"):
        encode_packet_out(message, HEADER)


def test_a_program_without_headers_gets_and_sends_bare_packets() -> None:
    assert encode_packet_out(packet_out({}), None) == b"data"
    assert decode_packet_in(b"data", None) == p4r.PacketIn(payload=b"data")
    with refused(rpc_code.INVALID_ARGUMENT):
        encode_packet_out(packet_out({1: b"\x01"}), None)


def test_a_header_that_is_not_whole_bytes_is_filled_up_at_its_end() -> None:
    header = packet_header(PacketHeaderInfo((ParamInfo(1, "port", 9),)), {})
    packet = encode_packet_out(packet_out({1: b"\x01\x01"}), header)
    assert packet == b"\x80\x80data"
    message = decode_packet_in(packet, header)
    assert message is not None
    assert message.metadata[0].value == b"\x01\x01"


def test_a_translated_field_has_the_programs_width_in_the_packet() -> None:
    """The controller sees 32 bits, the header has 9."""
    info = PacketHeaderInfo((ParamInfo(1, "port", 32, translated=True), ParamInfo(2, "rest", 7)))
    header = packet_header(info, {("port", "rest"): (9, 7), ("port",): (1,)})
    packet = encode_packet_out(packet_out({1: b"\x01\x01", 2: b"\x7f"}), header)
    assert packet == b"\x80\xffdata"
    message = decode_packet_in(packet, header)
    assert message is not None
    assert [m.value for m in message.metadata] == [b"\x01\x01", b"\x7f"]
    with refused(rpc_code.INVALID_ARGUMENT, "9 bits"):
        encode_packet_out(packet_out({1: b"\x02\0", 2: b"\0"}), header)


def test_a_packet_shorter_than_the_header_is_no_packet_in() -> None:
    assert decode_packet_in(b"\0\0", HEADER) is None
    assert decode_packet_in(b"\0\0\0", HEADER) is not None


@given(st.integers(0, 511), st.integers(0, 7), st.integers(0, 4095), st.binary(max_size=50))
def test_metadata_survives_both_ways(port: int, reason: int, rest: int, payload: bytes) -> None:
    values = {1: port.to_bytes(2, "big"), 2: bytes([reason]), 7: rest.to_bytes(2, "big")}
    message = decode_packet_in(encode_packet_out(packet_out(values, payload), HEADER), HEADER)
    assert message is not None
    assert message.payload == payload
    assert [int.from_bytes(m.value, "big") for m in message.metadata] == [port, reason, rest]
