"""MTCP's codec: round trips, exact sizes, and nothing but PacketError for anything else."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.protocols.mtcp import packets, tree_packets
from hosts.protocols.mtcp.packets import (
    DATA_BYTES,
    DEFAULT_PAYLOAD_BYTES,
    MAX_OFFSET,
    MAX_PAYLOAD_BYTES,
    REPAIR_BYTES,
    SACK_BITS,
    Data,
    Feedback,
    Repair,
    parse,
)
from hosts.protocols.mtcp.progress import encode_progress
from hosts.protocols.mtcp.tree_packets import (
    Announce,
    Entry,
    Join,
    JoinAck,
    Move,
    Offer,
    Probe,
    ProbeAck,
    Query,
    Report,
    ReportAck,
    State,
)
from hosts.protocols.mtcp.wire import MAX_ADDRESSES, NUMBER, UNLIMITED, Type
from hosts.wire.farewell import Abort, Fin
from hosts.wire.header import MAX_DATAGRAM_BYTES, PacketError
from hosts.wire.reason import Reason

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
REASONS = st.sampled_from(list(Reason))
PAYLOAD = st.binary(max_size=MAX_PAYLOAD_BYTES)
OFFSET = st.integers(0, MAX_OFFSET - MAX_PAYLOAD_BYTES)
ADDRESSES = st.builds(
    lambda number, port: Address(str(IPv4Address(number)), port), st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)
)
LINEAGE = st.lists(ADDRESSES, max_size=MAX_ADDRESSES).map(tuple)
ENTRIES = st.builds(
    Entry,
    ADDRESSES,
    ADDRESSES,
    st.integers(0, 2**16 - 1),
    st.sampled_from(State),
    REASONS,
    st.booleans(),
    st.booleans(),
)


@given(U32, st.booleans(), st.integers(0, 2**40), U64, OFFSET, PAYLOAD, U64)
def test_data_and_repair(session: int, end: bool, seq: int, time: int, offset: int, payload: bytes, later: int) -> None:
    data = packets.encode_data(session, end, seq, time, offset, payload, 9)
    assert len(data) == DATA_BYTES + len(payload)
    wire_seq = seq % 2**32
    assert parse(data) == Data(session, end, wire_seq, time, offset, 9, payload)
    repair = packets.encode_repair(data, later)
    assert len(repair) == REPAIR_BYTES + len(payload)
    assert parse(repair) == Repair(session, end, wire_seq, time, offset, later, payload)


@given(OFFSET, st.binary(min_size=1, max_size=MAX_PAYLOAD_BYTES))
def test_a_stream_ends_before_offsets_do(beyond: int, payload: bytes) -> None:
    offset = max(MAX_OFFSET + 1 - len(payload), MAX_OFFSET - beyond)
    data = packets.encode_data(1, False, 1, 0, offset, payload)
    for packet in (data, packets.encode_repair(data, 0)):
        with pytest.raises(PacketError, match="value"):
            parse(packet)


@given(st.tuples(U32, st.booleans(), U32, U64, U32, U64, U32, U32, U32, st.integers(0, 2**SACK_BITS - 1)))
def test_feedback(values: tuple[int, bool, int, int, int, int, int, int, int, int]) -> None:
    assert parse(packets.encode_feedback(*values)) == Feedback(*values)


U128 = st.integers(0, 2**128 - 1)


@given(
    st.builds(
        Feedback,
        *(U32, st.booleans(), U32, U64, U32, U64, U32, U32, U32, st.integers(0, 2**SACK_BITS - 1)),
        *(st.booleans(), st.integers(0, 2**16 - 1), U128, U128, st.booleans(), U32, U32, st.integers(0, 2**16 - 1)),
    )
)
def test_merged_feedback(feedback: Feedback) -> None:
    assert parse(packets.FEEDBACK.encode(feedback)) == feedback


@given(st.booleans(), st.integers(0, 2**16 - 1))
def test_a_child_stands_for_itself_alone(merge: bool, number: int) -> None:
    parsed = parse(packets.encode_feedback(7, False, 1, 2, 3, 4, 5, 6, 7, 0, merge=merge, number=number))
    assert isinstance(parsed, Feedback)
    mine = 1 << number if merge and number < packets.MERGE_CHILDREN else 0
    assert (parsed.number, parsed.children, parsed.holders) == (number, mine, mine)
    assert (parsed.merge, parsed.merged) == (mine != 0, False)


def test_feedback_is_cut_to_what_fits() -> None:
    big = 2**80
    parsed = parse(packets.encode_feedback(1, False, 2**32 + 5, 1, big, 1, big, big, big, 1 << SACK_BITS))
    assert parsed == Feedback(1, False, 5, 1, UNLIMITED, 1, UNLIMITED, UNLIMITED, UNLIMITED, 0)


@given(U32, st.booleans(), st.booleans(), U64, U32, REASONS, st.integers(1, MAX_PAYLOAD_BYTES), LINEAGE)
def test_control(
    session: int, one: bool, two: bool, time: int, size: int, reason: Reason, payload: int, lineage: tuple[Address, ...]
) -> None:
    assert parse(tree_packets.encode_probe(session, time, size, size, lineage)) == Probe(
        session, time, size, size, lineage
    )
    assert parse(tree_packets.encode_probe_ack(session, time, 7)) == ProbeAck(session, time, 7)
    assert parse(tree_packets.encode_announce(session, payload)) == Announce(session, payload)
    assert parse(tree_packets.encode_fin(session, one, two, reason)) == Fin(session, one, two, reason)
    assert parse(tree_packets.encode_abort(session, reason)) == Abort(session, reason)
    assert parse(tree_packets.encode_query(session, time)) == Query(session, time)
    assert parse(tree_packets.encode_report_ack(session, size)) == ReportAck(session, size)
    for packet in (
        Join(session, one, two, not one, not two, payload, size, size),
        Join(session, two, one, two, one, payload, size, size),
    ):
        assert parse(tree_packets.encode_join(packet)) == packet
    ack = JoinAck(session, one, reason, payload, payload, size, time, Address("1.2.3.4", 5), lineage)
    assert parse(tree_packets.encode_join_ack(ack)) == ack
    offer = Offer(session, one, two, time, payload, 3, lineage)
    assert parse(tree_packets.encode_offer(offer)) == offer
    for address in lineage:
        assert parse(tree_packets.encode_move(session, address)) == Move(session, address)


@given(U32, U32, st.lists(ENTRIES, max_size=tree_packets.MAX_ENTRIES))
def test_reports(session: int, number: int, entries: list[Entry]) -> None:
    data = tree_packets.encode_report(session, number, entries)
    assert len(data) <= MAX_DATAGRAM_BYTES
    assert parse(data) == Report(session, number, tuple(entries))


def examples() -> list[bytes]:
    """One datagram of every type."""
    data = packets.encode_data(7, True, 3, 4, 5, b"payload")
    here, there = Address("10.0.0.1", 40001), Address("10.0.0.2", 40002)
    return [
        data,
        packets.encode_repair(data, 9),
        packets.encode_feedback(7, False, 1, 2, 3, 4, 5, 6, 7, 0b1011),
        packets.encode_feedback(7, True, 1, 2, 3, 4, 5, 6, 7, 0b1011, merge=True, number=5),
        tree_packets.encode_probe(7, 1, 2, 3, (here, there)),
        tree_packets.encode_probe_ack(7, 1, 2),
        tree_packets.encode_announce(7, 1400),
        tree_packets.encode_join(Join(7, True, False, True, False, 3, 1000, 5)),
        tree_packets.encode_join_ack(JoinAck(7, True, Reason.FULL, 1, 2, 3, 4, here, (there,))),
        tree_packets.encode_fin(7, False, True, Reason.NONE),
        tree_packets.encode_fin(7, True, True, Reason.NONE),
        tree_packets.encode_abort(7, Reason.SILENT),
        tree_packets.encode_query(7, 1),
        tree_packets.encode_offer(Offer(7, True, False, 1, 2, 3, (here, there))),
        tree_packets.encode_move(7, there),
        tree_packets.encode_report(7, 1, [Entry(here, there, 4, State.LOST, Reason.SILENT, True, False)]),
        tree_packets.encode_report_ack(7, 1),
        encode_progress(7, 1, 2, 3, 4, 5, 6, 7, marked=True),
    ]


def test_the_examples_cover_all_types() -> None:
    assert [data[2] for data in examples()] == sorted(Type)


@pytest.mark.parametrize("data", examples(), ids=[Type(data[2]).name for data in examples()])
def test_sizes_are_exact(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(PacketError, match="truncated"):
            parse(data[:size])
    with pytest.raises(PacketError, match="oversized"):
        parse(data + b"x")


@pytest.mark.parametrize(
    ("position", "value", "reason"),
    [(0, 2, "sealed"), (0, 3, "version"), (0, 0, "version"), (1, 99, "protocol"), (2, 0, "type"), (2, 19, "type")],
)
def test_headers_of_others(position: int, value: int, reason: str) -> None:
    data = bytearray(tree_packets.encode_probe(7, 1))
    data[position] = value
    with pytest.raises(PacketError, match=reason):
        parse(bytes(data))


def test_values_out_of_range() -> None:
    for data, position, value in [
        (tree_packets.encode_abort(7, Reason.FULL), 8, 200),
        (tree_packets.encode_join_ack(JoinAck(7, False, Reason.FULL, 1)), 8, 200),
        (tree_packets.encode_fin(7, False, True, Reason.NONE), 8, 2),
        (tree_packets.encode_fin(7, False, True, Reason.NONE), 9, 77),
    ]:
        broken = bytearray(data)
        broken[position] = value
        with pytest.raises(PacketError, match="value"):
            parse(bytes(broken))
    for size in (0, MAX_DATAGRAM_BYTES + 1):
        with pytest.raises(PacketError, match="value"):
            parse(tree_packets.encode_announce(7, size))


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
    assert refusal(bytes((1, NUMBER)) + data) in REASONS_TO_REFUSE | {None}


@given(st.sampled_from(examples()), st.integers(0, 119), st.integers(0, 255))
def test_a_changed_byte(data: bytes, position: int, value: int) -> None:
    changed = bytearray(data)
    changed[position % len(changed)] = value
    assert refusal(bytes(changed)) in REASONS_TO_REFUSE | {None}


def test_the_default_payload_fits_an_ethernet_frame() -> None:
    assert DEFAULT_PAYLOAD_BYTES <= MAX_PAYLOAD_BYTES
    assert REPAIR_BYTES + MAX_PAYLOAD_BYTES == MAX_DATAGRAM_BYTES == 1472
