"""Scapy layers for Canopy's packets, for tests and for reading captures.

    from hosts import dissect
    dissect.bind(5000)              # UDP port 5000 carries Canopy
    rdpcap("run.pcap")[UDP].show()

The structs in each protocol's `packets` are what endpoints use; a test holds both to the same bytes.
"""

from typing import Any

from scapy.fields import (
    BitField,
    ByteEnumField,
    ByteField,
    FieldLenField,
    IntField,
    LongField,
    ShortField,
    StrLenField,
    XByteField,
)
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers, split_layers

from hosts.mtcp import packets as mtcp
from hosts.reason import Reason

PROTOCOLS = {mtcp.NUMBER: "MTCP"}
REASONS = {int(reason): reason.name for reason in Reason}


class CanopyHeader(Packet):
    """hosts.header."""

    name = "Canopy"
    fields_desc = [  # noqa: RUF012
        ByteField("version", 1),
        ByteEnumField("protocol", mtcp.NUMBER, PROTOCOLS),
        ByteField("type", 0),
        XByteField("flags", 0),
        IntField("session", 0),
    ]


def _stream_fields() -> list[Any]:
    return [
        IntField("seq", 0),
        FieldLenField("length", None, length_of="data", fmt="!H"),
        ShortField("reserved", 0),
        LongField("send_time_us", 0),
        LongField("offset", 0),
    ]


class MtcpData(Packet):
    """DATA."""

    name = "MTCP DATA"
    fields_desc = [*_stream_fields(), StrLenField("data", b"", length_from=lambda packet: packet.length)]  # noqa: RUF012


class MtcpRepair(Packet):
    """REPAIR."""

    name = "MTCP REPAIR"
    fields_desc = [  # noqa: RUF012
        *_stream_fields(),
        LongField("repair_time_us", 0),
        StrLenField("data", b"", length_from=lambda packet: packet.length),
    ]


class MtcpFeedback(Packet):
    """ACK and NACK."""

    name = "MTCP feedback"
    fields_desc = [  # noqa: RUF012
        IntField("cumulative", 0),
        IntField("held_us", 0),
        LongField("echo_time_us", 0),
        LongField("repair_echo_us", 0),
        IntField("min_cwnd", mtcp.UNLIMITED),
        IntField("max_twnd", 0),
        IntField("window", 0),
        BitField("sack", 0, mtcp.SACK_BITS),
    ]


class MtcpProbe(Packet):
    """PROBE and PROBE_ACK."""

    name = "MTCP probe"
    fields_desc = [LongField("time_us", 0)]  # noqa: RUF012


class MtcpAnnounce(Packet):
    """ANNOUNCE."""

    name = "MTCP ANNOUNCE"
    fields_desc = [ShortField("payload_bytes", 0), ShortField("reserved", 0)]  # noqa: RUF012


class MtcpJoin(Packet):
    """JOIN."""

    name = "MTCP JOIN"
    fields_desc = [IntField("window", 0)]  # noqa: RUF012


class MtcpReason(Packet):
    """JOIN_ACK and ABORT."""

    name = "MTCP reason"
    fields_desc = [ByteEnumField("reason", 0, REASONS), ByteField("reserved8", 0), ShortField("reserved", 0)]  # noqa: RUF012


class MtcpFin(Packet):
    """FIN and FIN_ACK."""

    name = "MTCP FIN"
    fields_desc = [  # noqa: RUF012
        ByteField("complete", 0),
        ByteEnumField("reason", 0, REASONS),
        ShortField("reserved", 0),
    ]


MTCP_LAYERS = {
    mtcp.Type.DATA: MtcpData,
    mtcp.Type.REPAIR: MtcpRepair,
    mtcp.Type.ACK: MtcpFeedback,
    mtcp.Type.NACK: MtcpFeedback,
    mtcp.Type.PROBE: MtcpProbe,
    mtcp.Type.PROBE_ACK: MtcpProbe,
    mtcp.Type.ANNOUNCE: MtcpAnnounce,
    mtcp.Type.JOIN: MtcpJoin,
    mtcp.Type.JOIN_ACK: MtcpReason,
    mtcp.Type.FIN: MtcpFin,
    mtcp.Type.FIN_ACK: MtcpFin,
    mtcp.Type.ABORT: MtcpReason,
}

for _type, _layer in MTCP_LAYERS.items():
    bind_layers(CanopyHeader, _layer, version=1, protocol=mtcp.NUMBER, type=int(_type))


def bind(port: int) -> None:
    """Datagrams from or to a UDP port are Canopy's."""
    bind_layers(UDP, CanopyHeader, sport=port)
    bind_layers(UDP, CanopyHeader, dport=port)


def unbind(port: int) -> None:
    """The reverse of `bind`."""
    split_layers(UDP, CanopyHeader, sport=port)
    split_layers(UDP, CanopyHeader, dport=port)
