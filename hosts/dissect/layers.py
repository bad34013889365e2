"""Scapy layers for Canopy's packets, for tests and for reading captures.

    from hosts.dissect import layers
    layers.bind(5000)              # UDP port 5000 carries Canopy
    rdpcap("run.pcap")[UDP].show()

`hosts.dissect.wireshark` makes Wireshark's dissector of the same layers. The structs in each protocol's `packets`
are what endpoints use; a test holds both to the same bytes.
"""

from collections.abc import Mapping
from typing import Any

from scapy.fields import (
    BitField,
    ByteEnumField,
    ByteField,
    FieldLenField,
    IntField,
    IPField,
    LongField,
    PacketListField,
    ShortField,
    StrLenField,
    XByteField,
)
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers, split_layers

from hosts.dissect.rla import RLA_LAYERS
from hosts.dissect.tfmcc import TFMCC_LAYERS
from hosts.dissect.vlmcc import VLMCC_LAYERS
from hosts.protocols.mtcp import packets as mtcp
from hosts.protocols.mtcp import wire
from hosts.protocols.rla.packets import NUMBER as RLA
from hosts.protocols.tfmcc.packets import NUMBER as TFMCC
from hosts.protocols.vlmcc.packets import NUMBER as VLMCC
from hosts.wire.reason import Reason

PROTOCOLS = {wire.NUMBER: "MTCP", TFMCC: "TFMCC", RLA: "RLA", VLMCC: "VLMCC"}
REASONS = {int(reason): reason.name for reason in Reason}


class CanopyHeader(Packet):
    """hosts.wire.header."""

    name = "Canopy"
    fields_desc = [  # noqa: RUF012
        ByteField("version", 1),
        ByteEnumField("protocol", wire.NUMBER, PROTOCOLS),
        ByteField("type", 0),
        XByteField("flags", 0),
        IntField("session", 0),
    ]


def _stream_fields() -> list[Any]:
    return [
        IntField("seq", 0),
        FieldLenField("length", None, length_of="data", fmt="!H"),
        ShortField("cwnd", 0),
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
        IntField("min_cwnd", wire.UNLIMITED),
        IntField("max_twnd", 0),
        IntField("window", 0),
        IntField("queue_us", 0),
        IntField("bound_us", 0),
        ShortField("number", 0),
        ShortField("repeats", 0),
        BitField("children", 0, mtcp.MERGE_CHILDREN),
        BitField("holders", 0, mtcp.MERGE_CHILDREN),
        BitField("sack", 0, mtcp.SACK_BITS),
    ]


class MtcpAddress(Packet):
    """One of a list."""

    name = "MTCP address"
    fields_desc = [IPField("host", "0.0.0.0"), ShortField("port", 0)]  # noqa: RUF012

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """What follows is the next one's."""
        return b"", s


def _addresses(count: str) -> PacketListField:
    return PacketListField("addresses", [], MtcpAddress, count_from=lambda packet: packet.getfieldval(count))


class MtcpProbe(Packet):
    """PROBE."""

    name = "MTCP PROBE"
    fields_desc = [  # noqa: RUF012
        LongField("time_us", 0),
        IntField("rtt_us", 0),
        IntField("silence_ms", 0),
        FieldLenField("count", None, count_of="addresses", fmt="!H"),
        ShortField("reserved", 0),
        _addresses("count"),
    ]


class MtcpProbeAck(Packet):
    """PROBE_ACK."""

    name = "MTCP PROBE_ACK"
    fields_desc = [LongField("time_us", 0), LongField("clock_us", 0)]  # noqa: RUF012


class MtcpAnnounce(Packet):
    """ANNOUNCE."""

    name = "MTCP ANNOUNCE"
    fields_desc = [ShortField("payload_bytes", 0), ShortField("reserved", 0)]  # noqa: RUF012


class MtcpJoin(Packet):
    """JOIN."""

    name = "MTCP JOIN"
    fields_desc = [  # noqa: RUF012
        IntField("window", 0),
        IntField("cumulative", 0),
        ShortField("epoch", 0),
        ShortField("reserved", 0),
    ]


class MtcpJoinAck(Packet):
    """JOIN_ACK."""

    name = "MTCP JOIN_ACK"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("reason", 0, REASONS),
        FieldLenField("count", None, count_of="addresses", fmt="!B"),
        ShortField("number", 0),
        ShortField("epoch", 0),
        ShortField("reserved", 0),
        IntField("first", 0),
        LongField("offset", 0),
        IPField("child_host", "0.0.0.0"),
        ShortField("child_port", 0),
        _addresses("count"),
    ]


class MtcpAbort(Packet):
    """ABORT."""

    name = "MTCP ABORT"
    fields_desc = [ByteEnumField("reason", 0, REASONS), ByteField("reserved8", 0), ShortField("reserved", 0)]  # noqa: RUF012


class MtcpFin(Packet):
    """FIN and FIN_ACK."""

    name = "MTCP FIN"
    fields_desc = [  # noqa: RUF012
        ByteField("complete", 0),
        ByteEnumField("reason", 0, REASONS),
        ShortField("reserved", 0),
    ]


class MtcpQuery(Packet):
    """QUERY."""

    name = "MTCP QUERY"
    fields_desc = [LongField("time_us", 0)]  # noqa: RUF012


class MtcpOffer(Packet):
    """OFFER."""

    name = "MTCP OFFER"
    fields_desc = [  # noqa: RUF012
        LongField("time_us", 0),
        ShortField("load", 0),
        ByteField("level", 0),
        FieldLenField("count", None, count_of="addresses", fmt="!B"),
        _addresses("count"),
    ]


class MtcpMove(Packet):
    """MOVE."""

    name = "MTCP MOVE"
    fields_desc = [IPField("host", "0.0.0.0"), ShortField("port", 0), ShortField("reserved", 0)]  # noqa: RUF012


class MtcpEntry(Packet):
    """One member in a REPORT."""

    name = "MTCP member"
    fields_desc = [  # noqa: RUF012
        IPField("host", "0.0.0.0"),
        ShortField("port", 0),
        IPField("parent_host", "0.0.0.0"),
        ShortField("parent_port", 0),
        ShortField("epoch", 0),
        BitField("marks", 0, 4),
        BitField("state", 0, 4),
        ByteEnumField("reason", 0, REASONS),
    ]

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """What follows is the next one's."""
        return b"", s


class MtcpReport(Packet):
    """REPORT."""

    name = "MTCP REPORT"
    fields_desc = [  # noqa: RUF012
        IntField("number", 0),
        FieldLenField("count", None, count_of="members", fmt="!H"),
        ShortField("reserved", 0),
        PacketListField("members", [], MtcpEntry, count_from=lambda packet: packet.count),
    ]


class MtcpReportAck(Packet):
    """REPORT_ACK."""

    name = "MTCP REPORT_ACK"
    fields_desc = [IntField("number", 0)]  # noqa: RUF012


MTCP_LAYERS = {
    wire.Type.DATA: MtcpData,
    wire.Type.REPAIR: MtcpRepair,
    wire.Type.ACK: MtcpFeedback,
    wire.Type.NACK: MtcpFeedback,
    wire.Type.PROBE: MtcpProbe,
    wire.Type.PROBE_ACK: MtcpProbeAck,
    wire.Type.ANNOUNCE: MtcpAnnounce,
    wire.Type.JOIN: MtcpJoin,
    wire.Type.JOIN_ACK: MtcpJoinAck,
    wire.Type.FIN: MtcpFin,
    wire.Type.FIN_ACK: MtcpFin,
    wire.Type.ABORT: MtcpAbort,
    wire.Type.QUERY: MtcpQuery,
    wire.Type.OFFER: MtcpOffer,
    wire.Type.MOVE: MtcpMove,
    wire.Type.REPORT: MtcpReport,
    wire.Type.REPORT_ACK: MtcpReportAck,
}

LAYERS: dict[int, Mapping[Any, type[Packet]]] = {
    wire.NUMBER: MTCP_LAYERS,
    TFMCC: TFMCC_LAYERS,
    RLA: RLA_LAYERS,
    VLMCC: VLMCC_LAYERS,
}
"""By the protocol's number in the common header, then by the packet's type, a member of the protocol's enumeration."""

for _number, _layers in LAYERS.items():
    for _type, _layer in _layers.items():
        bind_layers(CanopyHeader, _layer, version=1, protocol=_number, type=int(_type))


def bind(port: int) -> None:
    """Datagrams from or to a UDP port are Canopy's."""
    bind_layers(UDP, CanopyHeader, sport=port)
    bind_layers(UDP, CanopyHeader, dport=port)


def unbind(port: int) -> None:
    """The reverse of `bind`."""
    split_layers(UDP, CanopyHeader, sport=port)
    split_layers(UDP, CanopyHeader, dport=port)
