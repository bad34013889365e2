"""Any packet of a protocol comes back from its bytes; nothing else does, and nothing but PacketError is raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.header import VERSION, PacketError
from tests.hosts.codec import Codec
from tests.hosts.protocols.arbor.test_packets import CODEC as ARBOR
from tests.hosts.protocols.arbor.test_packets import TOLD as TOLD_ARBOR
from tests.hosts.protocols.tfmcc.test_packets import CODEC as TFMCC
from tests.hosts.protocols.vlmcc.test_packets import CODEC as VLMCC

NAMES = ("arbor", "arbor, told", "tfmcc", "vlmcc")
of_each = pytest.mark.parametrize("codec", [ARBOR, TOLD_ARBOR, TFMCC, VLMCC], ids=NAMES)


@of_each
@given(st.data())
def test_what_is_encoded_is_parsed(codec: Codec, data: st.DataObject) -> None:
    packet, encoded = data.draw(codec.packets)
    assert codec.parse(encoded) == packet


@of_each
@given(st.data())
def test_the_short_way_to_data_agrees(codec: Codec, data: st.DataObject) -> None:
    packet, encoded = data.draw(codec.packets)
    assert codec.parse_data(encoded) == (packet if isinstance(packet, codec.data) else None)
    assert codec.parse_data(encoded) is codec.parse_data(encoded)
    assert codec.parse_data(encoded + b"x") is None


@of_each
@given(st.data(), st.integers(0, 200), st.booleans())
def test_a_wrong_length_is_refused(codec: Codec, data: st.DataObject, cut: int, longer: bool) -> None:
    """A byte more, or no end."""
    _, encoded = data.draw(codec.packets)
    with pytest.raises(PacketError):
        codec.parse(encoded + b"x" if longer else encoded[: min(cut, len(encoded) - 1)])


@of_each
@given(st.binary(max_size=120))
def test_any_bytes_are_parsed_or_refused(codec: Codec, data: bytes) -> None:
    """Behind the protocol's number."""
    reason = "none"
    try:
        codec.parse(bytes((VERSION, codec.number)) + data)
    except PacketError as error:
        reason = error.reason
    assert reason in {"none", "truncated", "oversized", "type", "value"}
