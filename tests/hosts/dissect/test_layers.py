"""The Scapy layers and the structs say the same."""

from collections.abc import Callable
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from hosts.dissect import layers as dissect
from hosts.dissect.layers import CanopyHeader
from hosts.protocols.mtcp import control, packets
from hosts.protocols.mtcp.wire import Type
from tests.hosts.datagrams import EXAMPLES


@pytest.mark.parametrize(
    ("data", "parse"), EXAMPLES, ids=[f"{dissect.PROTOCOLS[data[1]]}-{data[2]}" for data, _ in EXAMPLES]
)
def test_equal_to_the_structs(data: bytes, parse: Callable[[bytes], Any]) -> None:
    layers = CanopyHeader(data)
    assert not layers.haslayer(Raw)
    body = layers.payload
    assert type(body) is dissect.LAYERS[data[1]][data[2]]
    parsed = parse(data)
    assert layers.session == parsed.session
    for field in parsed._fields:
        if field in body.fields:
            assert body.fields[field] == getattr(parsed, field), field
    if hasattr(parsed, "payload"):
        assert body.data == parsed.payload
        assert body.length == len(parsed.payload)
        assert layers.flags == packets.FLAG_END
    for layer in (layers, body):  # build anew, from the fields alone
        layer.raw_packet_cache = None
    assert bytes(layers) == data


def test_every_type_has_an_example() -> None:
    assert {(data[1], data[2]) for data, _ in EXAMPLES} == {
        (number, int(kind)) for number, layers in dissect.LAYERS.items() for kind in layers
    }


def test_scapy_finds_it_behind_udp() -> None:
    dissect.bind(5000)
    try:
        data = control.encode_probe(7, 12345)
        wire = bytes(IP(src="10.0.0.1", dst="232.1.1.1") / UDP(sport=40000, dport=5000) / data)
        assert IP(wire)[dissect.MtcpProbe].time_us == 12345
    finally:
        dissect.unbind(5000)


def test_scapy_can_make_packets() -> None:
    header = CanopyHeader(type=int(Type.DATA), session=9)
    made = bytes(header / dissect.MtcpData(seq=4, send_time_us=5, offset=6, data=b"abc"))
    assert made == packets.encode_data(9, False, 4, 5, 6, b"abc")
