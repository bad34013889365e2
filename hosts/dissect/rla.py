"""Scapy layers for RLA's packets; hosts/dissect/layers.py binds them."""

from collections.abc import Mapping
from typing import Final

from scapy.fields import (
    BitField,
    ByteEnumField,
    ByteField,
    FieldLenField,
    IntField,
    LongField,
    ShortField,
    StrLenField,
)
from scapy.packet import Packet

from hosts.protocols.rla.packets import CHILD_BITS, SACK_BITS, Type
from hosts.wire.reason import Reason

_REASONS: Final = {int(reason): reason.name for reason in Reason}


class RlaData(Packet):
    """DATA."""

    name = "RLA DATA"
    fields_desc = [  # noqa: RUF012
        IntField("seq", 0),
        FieldLenField("length", None, length_of="data", fmt="!H"),
        ShortField("srtt_ms", 0),
        LongField("send_time_us", 0),
        LongField("offset", 0),
        StrLenField("data", b"", length_from=lambda packet: packet.length),
    ]


class RlaAck(Packet):
    """ACK."""

    name = "RLA ACK"
    fields_desc = [  # noqa: RUF012
        IntField("cumulative", 0),
        IntField("window", 0),
        LongField("echo_time_us", 0),
        ShortField("number", 0),
        ShortField("reserved", 0),
        BitField("children", 0, CHILD_BITS),
        BitField("sack", 0, SACK_BITS),
    ]


class RlaAnnounce(Packet):
    """ANNOUNCE."""

    name = "RLA ANNOUNCE"
    fields_desc = [ShortField("payload_bytes", 0), ShortField("reserved", 0)]  # noqa: RUF012


class RlaJoin(Packet):
    """JOIN."""

    name = "RLA JOIN"
    fields_desc = [IntField("window", 0)]  # noqa: RUF012


class RlaJoinAck(Packet):
    """JOIN_ACK."""

    name = "RLA JOIN_ACK"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("reason", 0, _REASONS),
        ByteField("reserved", 0),
        ShortField("number", 0),
        IntField("first", 0),
        LongField("offset", 0),
    ]


class RlaFin(Packet):
    """FIN and FIN_ACK."""

    name = "RLA FIN"
    fields_desc = [ByteField("complete", 0), ByteEnumField("reason", 0, _REASONS), ShortField("reserved", 0)]  # noqa: RUF012


class RlaAbort(Packet):
    """ABORT."""

    name = "RLA ABORT"
    fields_desc = [ByteEnumField("reason", 0, _REASONS), ByteField("reserved8", 0), ShortField("reserved", 0)]  # noqa: RUF012


RLA_LAYERS: Mapping[Type, type[Packet]] = {
    Type.DATA: RlaData,
    Type.ACK: RlaAck,
    Type.ANNOUNCE: RlaAnnounce,
    Type.JOIN: RlaJoin,
    Type.JOIN_ACK: RlaJoinAck,
    Type.FIN: RlaFin,
    Type.FIN_ACK: RlaFin,
    Type.ABORT: RlaAbort,
}
