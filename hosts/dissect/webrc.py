"""A Scapy layer for WEBRC's packets, which are ALC's (RFC 5775) and begin with no Canopy header: `bind` it to a port.

Wireshark has a dissector of its own: `tshark -d udp.port==5000,alc`.
"""

from typing import Final

from scapy.fields import BitField, ByteField, ConditionalField, FieldListField, IntField, ShortField
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers

_FIXED_WORDS: Final = 3


class Webrc(Packet):
    """LCT header with WEBRC's congestion control information, and the FEC Payload ID; what follows is the symbol."""

    name = "WEBRC"
    fields_desc = [  # noqa: RUF012
        BitField("version", 1, 4),
        BitField("c", 0, 2),
        BitField("psi", 0, 2),
        BitField("s", 1, 1),
        BitField("o", 1, 2),
        BitField("h", 0, 1),
        BitField("reserved", 0, 2),
        BitField("close_session", 0, 1),
        BitField("close_object", 0, 1),
        ByteField("header_words", 4),
        ByteField("codepoint", 0),
        ConditionalField(ByteField("slot_index", 0), lambda packet: packet.c == 0),
        ConditionalField(ByteField("channel", 0), lambda packet: packet.c == 0),
        ConditionalField(ShortField("psn", 0), lambda packet: packet.c == 0),
        ConditionalField(ShortField("slot_index_long", 0), lambda packet: packet.c == 1),
        ConditionalField(ShortField("channel_long", 0), lambda packet: packet.c == 1),
        ConditionalField(IntField("psn_long", 0), lambda packet: packet.c == 1),
        IntField("session", 0),
        IntField("toi", 0),
        FieldListField(
            "extensions",
            [],
            IntField("word", 0),
            count_from=lambda packet: max(0, packet.header_words - _FIXED_WORDS - 1 - packet.c),
        ),
        IntField("payload_id", 0),
    ]


def bind(port: int) -> None:
    """UDP port `port` carries WEBRC."""
    bind_layers(UDP, Webrc, dport=port)
