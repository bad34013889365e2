"""The Scapy layers of TFMCC and the structs say the same."""

from hypothesis import given
from scapy.packet import Raw

from hosts.dissect.layers import CanopyHeader
from hosts.dissect.tfmcc import TFMCC_LAYERS
from hosts.protocols.tfmcc.packets import Packet, Type
from tests.hosts.protocols.tfmcc.test_packets import packets


@given(packets)
def test_equal_to_the_structs(pair: tuple[Packet, bytes]) -> None:
    packet, data = pair
    layers = CanopyHeader(data)
    assert not layers.haslayer(Raw)
    body = layers.payload
    assert type(body) is TFMCC_LAYERS[Type(data[2])]
    assert layers.session == packet.session
    for field in packet._fields:
        if field in body.fields:
            assert body.fields[field] == getattr(packet, field), field
    for layer in (layers, body):  # build anew, from the fields alone
        layer.raw_packet_cache = None
    assert bytes(layers) == data
