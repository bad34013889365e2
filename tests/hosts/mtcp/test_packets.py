"""MTCP's codec: round trips, exact sizes, and nothing but PacketError for anything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.header import MAX_DATAGRAM_BYTES, PacketError
from hosts.mtcp import packets
from hosts.mtcp.packets import (
    DATA_BYTES,
    DEFAULT_PAYLOAD_BYTES,
    MAX_PAYLOAD_BYTES,
    REPAIR_BYTES,
    SACK_BITS,
    UNLIMITED,
    Abort,
    Announce,
    Data,
    Feedback,
    Fin,
    Join,
    JoinAck,
    Probe,
    Repair,
    parse,
)
from hosts.reason import Reason

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
REASONS = st.sampled_from(list(Reason))
PAYLOAD = st.binary(max_size=MAX_PAYLOAD_BYTES)


@given(U32, st.booleans(), st.integers(0, 2**40), U64, U64, PAYLOAD, U64)
def test_data_and_repair(session: int, end: bool, seq: int, time: int, offset: int, payload: bytes, later: int) -> None:
    data = packets.encode_data(session, end, seq, time, offset, payload)
    assert len(data) == DATA_BYTES + len(payload)
    wire_seq = seq % 2**32
    assert parse(data) == Data(session, end, wire_seq, time, offset, payload)
    repair = packets.encode_repair(data, later)
    assert len(repair) == REPAIR_BYTES + len(payload)
    assert parse(repair) == Repair(session, end, wire_seq, time, offset, later, payload)


@given(st.tuples(U32, st.booleans(), U32, U64, U32, U64, U32, U32, U32, st.integers(0, 2**SACK_BITS - 1)))
def test_feedback(values: tuple[int, bool, int, int, int, int, int, int, int, int]) -> None:
    assert parse(packets.encode_feedback(*values)) == Feedback(*values)


def test_feedback_is_cut_to_what_fits() -> None:
    big = 2**80
    parsed = parse(packets.encode_feedback(1, False, 2**32 + 5, 1, big, 1, big, big, big, 1 << SACK_BITS))
    assert parsed == Feedback(1, False, 5, 1, UNLIMITED, 1, UNLIMITED, UNLIMITED, UNLIMITED, 0)


@given(U32, st.booleans(), st.booleans(), U64, U32, REASONS, st.integers(1, MAX_PAYLOAD_BYTES))
def test_the_rest(session: int, one: bool, two: bool, time: int, size: int, reason: Reason, payload: int) -> None:
    assert parse(packets.encode_probe(session, one, time)) == Probe(session, one, time)
    assert parse(packets.encode_announce(session, payload)) == Announce(session, payload)
    assert parse(packets.encode_join(session, size)) == Join(session, size)
    assert parse(packets.encode_join_ack(session, reason)) == JoinAck(session, reason)
    assert parse(packets.encode_fin(session, one, two, reason)) == Fin(session, one, two, reason)
    assert parse(packets.encode_abort(session, reason)) == Abort(session, reason)


def examples() -> list[bytes]:
    """One datagram of every type."""
    data = packets.encode_data(7, True, 3, 4, 5, b"payload")
    return [
        data,
        packets.encode_repair(data, 9),
        packets.encode_feedback(7, False, 1, 2, 3, 4, 5, 6, 7, 0b1011),
        packets.encode_feedback(7, True, 1, 2, 3, 4, 5, 6, 7, 0b1011),
        packets.encode_probe(7, False, 1),
        packets.encode_probe(7, True, 1),
        packets.encode_announce(7, 1400),
        packets.encode_join(7, 1000),
        packets.encode_join_ack(7, Reason.FULL),
        packets.encode_fin(7, False, True, Reason.NONE),
        packets.encode_fin(7, True, True, Reason.NONE),
        packets.encode_abort(7, Reason.SILENT),
    ]


def test_the_examples_cover_all_types() -> None:
    assert [data[2] for data in examples()] == sorted(packets.Type)


@pytest.mark.parametrize("data", examples(), ids=[packets.Type(data[2]).name for data in examples()])
def test_sizes_are_exact(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(PacketError, match="truncated"):
            parse(data[:size])
    with pytest.raises(PacketError, match="oversized"):
        parse(data + b"x")


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [(0, 2, "version"), (0, 0, "version"), (1, 99, "protocol"), (2, 0, "type"), (2, 13, "type")],
)
def test_headers_of_others(position: int, value: int, reason: str) -> None:
    data = bytearray(packets.encode_probe(7, False, 1))
    data[position] = value
    with pytest.raises(PacketError, match=reason):
        parse(bytes(data))


def test_values_out_of_range() -> None:
    for data, position, value in [
        (packets.encode_abort(7, Reason.FULL), 8, 200),
        (packets.encode_join_ack(7, Reason.FULL), 8, 200),
        (packets.encode_fin(7, False, True, Reason.NONE), 8, 2),
        (packets.encode_fin(7, False, True, Reason.NONE), 9, 77),
    ]:
        broken = bytearray(data)
        broken[position] = value
        with pytest.raises(PacketError, match="value"):
            parse(bytes(broken))
    for size in (0, MAX_PAYLOAD_BYTES + 1):
        with pytest.raises(PacketError, match="value"):
            parse(packets.encode_announce(7, size))


REASONS_TO_REFUSE = {"truncated", "oversized", "version", "protocol", "type", "value"}


def refusal(data: bytes) -> str | None:
    """Why bytes are refused; None when they are a packet. Any other exception fails the test."""
    try:
        parse(data)
    except PacketError as error:
        return error.reason
    return None


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    assert refusal(data) in REASONS_TO_REFUSE
    assert refusal(bytes((1, packets.NUMBER)) + data) in REASONS_TO_REFUSE | {None}


@given(st.sampled_from(examples()), st.integers(0, 119), st.integers(0, 255))
def test_a_changed_byte(data: bytes, position: int, value: int) -> None:
    changed = bytearray(data)
    changed[position % len(changed)] = value
    assert refusal(bytes(changed)) in REASONS_TO_REFUSE | {None}


def test_the_default_payload_fits_an_ethernet_frame() -> None:
    assert DEFAULT_PAYLOAD_BYTES <= MAX_PAYLOAD_BYTES
    assert REPAIR_BYTES + MAX_PAYLOAD_BYTES == MAX_DATAGRAM_BYTES == 1472
