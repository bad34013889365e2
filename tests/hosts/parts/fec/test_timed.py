"""Packets of a stream as symbols."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.fec.timed import Timed, most_data, of_symbol, to_symbol
from hosts.wire.header import PacketError

SIZE = 1392


@given(st.builds(Timed, *[st.integers(0, 2**64 - 1)] * 2, st.binary(min_size=1, max_size=most_data(SIZE))))
def test_a_symbol_is_its_packet(packet: Timed) -> None:
    symbol = to_symbol(packet, SIZE)
    assert len(symbol) == SIZE
    assert of_symbol(symbol) == packet


@given(st.binary(max_size=60))
def test_any_symbol_is_a_packet_or_refused(symbol: bytes) -> None:
    try:
        packet = of_symbol(symbol)
    except PacketError:
        return
    assert to_symbol(packet, len(symbol))[: 18 + len(packet.data)] == symbol[: 18 + len(packet.data)]
