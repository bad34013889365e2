import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.rla import packets
from hosts.protocols.rla.packets import Ack, Announce, Data, Join, JoinAck
from hosts.wire.farewell import Abort, Fin
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason

u16 = st.integers(0, 2**16 - 1)
u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)


@given(
    u32,
    st.booleans(),
    st.booleans(),
    u32,
    u16,
    st.integers(0, (1 << packets.TIME_BITS) - 1),
    u64,
    st.binary(max_size=packets.MAX_PAYLOAD_BYTES),
    st.integers(0, packets.MAX_ACK_RATIO),
)
def test_data_comes_back(
    session: int, end: bool, again: bool, seq: int, srtt_ms: int, time_us: int, offset: int, payload: bytes, ratio: int
) -> None:
    data = Data(session, end, again, seq, srtt_ms, time_us, offset, payload, again, ratio, waits=end)
    assert packets.parse(packets.encode_data(data)) == data


@given(
    u32,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    u32,
    u32,
    u64,
    u16,
    st.integers(0, 2**packets.CHILD_BITS - 1),
    st.integers(0, 2**packets.SACK_BITS - 1),
    st.booleans(),
    u16,
)
def test_acknowledgment_comes_back(
    session: int,
    merged: bool,
    merge: bool,
    hurry: bool,
    cumulative: int,
    window: int,
    echo: int,
    number: int,
    children: int,
    sack: int,
    passes: bool,
    sack_start: int,
) -> None:
    ack = Ack(
        session, merged, merge, hurry, cumulative, window, echo, number, children, sack, passes, sack_start, not merge
    )
    assert packets.parse(packets.encode_ack(ack)) == ack


def test_a_packet_is_about_as_large_as_a_tcps() -> None:
    """Where losses limit the rate, it grows with a packet's size. A TCP's segment has 1,448 bytes."""
    assert 0.95 * 1448 <= packets.DEFAULT_PAYLOAD_BYTES <= 1500 - 28 - packets.DATA_BYTES


def test_control_packets_come_back() -> None:
    assert packets.parse(packets.encode_announce(7, 1000)) == Announce(7, 1000)
    assert packets.parse(packets.encode_join(7, True, 5000)) == Join(7, True, 5000)
    welcome = JoinAck(7, True, Reason.NONE, 3, 12, 12000)
    assert packets.parse(packets.encode_join_ack(welcome)) == welcome
    assert packets.parse(packets.encode_fin(7, True, False, Reason.WRONG_HASH)) == Fin(
        7, True, False, Reason.WRONG_HASH
    )
    assert packets.parse(packets.encode_abort(7, Reason.SLOWEST)) == Abort(7, Reason.SLOWEST)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_packet_or_an_error(data: bytes) -> None:
    for candidate in (data, bytes((1, packets.NUMBER)) + data):
        with contextlib.suppress(PacketError):
            packets.parse(candidate)


@pytest.mark.parametrize("cut", [1, 8, 30])
def test_a_cut_packet_is_truncated(cut: int) -> None:
    ack = packets.encode_ack(Ack(1, False, False, False, 2, 3, 4, 5, 6, 7))
    with pytest.raises(PacketError, match="truncated"):
        packets.parse(ack[:-cut])
    with pytest.raises(PacketError, match="oversized"):
        packets.parse(ack + b"x")
