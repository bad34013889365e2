import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.protocols.arbor.packets import (
    JOIN,
    LEAVE,
    WELCOME,
    Data,
    Join,
    Leave,
    Packet,
    Report,
    Welcome,
    encode_abort,
    encode_data,
    encode_report,
    parse,
    parse_data,
    to_units,
    to_us,
)
from hosts.wire.farewell import Abort
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason

u8, u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
positive = st.integers(1, 2**32 - 1)
reasons = st.sampled_from(Reason)
reports = st.builds(Report, u32, positive, positive, positive, u32, u32, u64, st.booleans(), st.booleans())
packets: st.SearchStrategy[tuple[Packet, bytes]] = st.one_of(
    st.builds(Data, u32, u8, u32, u32, u32, u32, u64, u64, u16, st.binary(max_size=64)).map(
        lambda packet: (packet, encode_data(packet))
    ),
    reports.map(lambda packet: (packet, encode_report(packet))),
    st.builds(Join, u32, positive, u64, u64).map(lambda packet: (packet, JOIN.encode(packet))),
    st.builds(Welcome, u32, positive, u64, u64).map(lambda packet: (packet, WELCOME.encode(packet))),
    st.builds(Leave, u32, positive, reasons).map(lambda packet: (packet, LEAVE.encode(packet))),
    st.builds(Abort, u32, reasons).map(lambda packet: (packet, encode_abort(*packet))),
)


@settings(deadline=None)
@given(packets)
def test_what_is_encoded_is_parsed(pair: tuple[Packet, bytes]) -> None:
    packet, encoded = pair
    assert parse(encoded) == packet
    assert parse_data(encoded) == (packet if isinstance(packet, Data) else None)


@settings(deadline=None)
@given(packets, st.integers(0, 200), st.booleans())
def test_a_wrong_length_is_refused(pair: tuple[Packet, bytes], cut: int, longer: bool) -> None:
    _, encoded = pair
    with pytest.raises(PacketError):
        parse(encoded + b"x" if longer else encoded[: min(cut, len(encoded) - 1)])


@settings(deadline=None)
@given(st.binary(max_size=120))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    reason = "none"
    try:
        parse(b"\x01\x06" + data)
    except PacketError as error:
        reason = error.reason
    assert reason in {"none", "truncated", "oversized", "type", "value"}


@pytest.mark.parametrize(
    "report", [Report(7, 0, 1, 1, 0, 0, 0), Report(7, 1, 0, 1, 0, 0, 0), Report(7, 1, 1, 0, 0, 0, 0)]
)
def test_a_report_of_nothing_is_refused(report: Report) -> None:
    with pytest.raises(PacketError, match="value"):
        parse(encode_report(report))


def test_quantities_are_cut_to_what_fits() -> None:
    assert [to_units(value) for value in (-1.0, 0.0004, 1.5, 1e12)] == [0, 0, 1500, 2**32 - 1]
    assert [to_us(value) for value in (0.0, 1e-6, 1e9)] == [1, 1, 2**32 - 1]
