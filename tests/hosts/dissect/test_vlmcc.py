"""The Scapy layers of VLMCC and the structs say the same."""

from hypothesis import given, settings
from scapy.packet import Raw

from hosts.dissect.layers import CanopyHeader
from hosts.dissect.vlmcc import VLMCC_LAYERS
from hosts.protocols.vlmcc.packets import Packet, Type
from tests.hosts.protocols.vlmcc.test_packets import packets


@settings(deadline=None)
@given(packets)
def test_equal_to_the_structs(pair: tuple[Packet, bytes]) -> None:
    packet, data = pair
    layers = CanopyHeader(data)
    assert not layers.haslayer(Raw)
    body = layers.payload
    assert type(body) is VLMCC_LAYERS[Type(data[2])]
    assert layers.session == packet.session
    for field in packet._fields:
        if field in body.fields:
            assert body.fields[field] == getattr(packet, field), field
    for layer in (layers, body):  # build anew, from the fields alone
        layer.raw_packet_cache = None
    assert bytes(layers) == data
