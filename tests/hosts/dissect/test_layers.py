"""The Scapy layers say what the endpoints do."""

from collections.abc import Callable
from typing import Any

import pytest
from canopy_engine import Seal
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw, split_layers

from hosts.dissect import layers as dissect
from hosts.dissect.layers import CanopyHeader
from hosts.protocols.mtcp import packets, tree_packets
from hosts.protocols.mtcp.wire import NUMBER, Type
from tests.hosts.datagrams import EXAMPLES
from tests.hosts.protocols.tfmcc.test_packets import packets as tfmcc_packets
from tests.hosts.protocols.vlmcc.test_packets import packets as vlmcc_packets


def compare(packet: Any, data: bytes) -> CanopyHeader:
    """A layer has the tuple's values, and makes the same bytes anew."""
    layers = CanopyHeader(data)
    assert not layers.haslayer(Raw)
    body = layers.payload
    assert type(body) is dissect.LAYERS[data[1]][data[2]]
    assert layers.session == packet.session
    for field in packet._fields:
        if field in body.fields and not isinstance(body.fields[field], list):
            assert body.fields[field] == getattr(packet, field), field
    for layer in (layers, body):  # build anew, from the fields alone
        layer.raw_packet_cache = None
    assert bytes(layers) == data
    return layers


@pytest.mark.parametrize(
    ("data", "parse"), EXAMPLES, ids=[f"{dissect.PROTOCOLS[data[1]]}-{data[2]}" for data, _ in EXAMPLES]
)
def test_equal_to_the_endpoints(data: bytes, parse: Callable[[bytes], Any]) -> None:
    parsed = parse(data)
    layers = compare(parsed, data)
    if hasattr(parsed, "payload"):
        assert layers.payload.data == parsed.payload
        assert layers.payload.length == len(parsed.payload)
        assert layers.flags == packets.FLAG_END


@settings(deadline=None)
@given(st.one_of(tfmcc_packets, vlmcc_packets))
def test_equal_to_the_endpoints_with_any_values(pair: tuple[Any, bytes]) -> None:
    compare(*pair)


def test_every_type_has_an_example() -> None:
    assert {(data[1], data[2]) for data, _ in EXAMPLES} == {
        (number, int(kind)) for number, layers in dissect.LAYERS.items() for kind in layers
    }


def test_scapy_finds_it_behind_udp() -> None:
    dissect.bind(5000)
    try:
        data = tree_packets.encode_probe(7, 12345)
        wire = bytes(IP(src="10.0.0.1", dst="232.1.1.1") / UDP(sport=40000, dport=5000) / data)
        assert IP(wire)["MTCP PROBE"].time_us == 12345
    finally:
        split_layers(UDP, CanopyHeader, sport=5000)
        split_layers(UDP, CanopyHeader, dport=5000)


def test_scapy_can_make_packets() -> None:
    header = CanopyHeader(type=int(Type.DATA), session=9)
    made = bytes(header / dissect.LAYERS[NUMBER][Type.DATA](seq=4, send_time_us=5, offset=6, data=b"abc"))
    assert made == packets.encode_data(9, False, 4, 5, 6, b"abc")


def test_a_sealed_packet_is_another_layer() -> None:
    data = Seal([(3, bytes([7] * 32))], 9).seal(EXAMPLES[0][0], ("10.0.0.1", 1), ("10.0.0.2", 2), 1_800_000_000)
    layer = CanopyHeader(data)
    assert isinstance(layer, dissect.SealedHeader)
    assert (layer.protocol, layer.type) == (data[1], data[2])
    assert (layer.epoch, layer.sender, layer.counter, layer.sealed_at) == (3, 9, 0, 1_800_000_000)
    assert len(layer.payload) == len(data) - 20
