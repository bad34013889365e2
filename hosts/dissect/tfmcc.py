"""Scapy layers for TFMCC's packets; hosts/dissect/layers.py binds them."""

from collections.abc import Mapping
from typing import Final

from scapy.fields import ByteEnumField, ByteField, FieldLenField, IntField, LongField, ShortField, StrLenField
from scapy.packet import Packet

from hosts.protocols.tfmcc.packets import Type
from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.wire.reason import Reason

_REASONS: Final = {int(reason): reason.name for reason in Reason}


class TfmccData(Packet):
    """DATA."""

    name = "TFMCC DATA"
    fields_desc = [  # noqa: RUF012
        IntField("seq", 0),
        ShortField("round", 1),
        ShortField("rate", 0),
        ShortField("suppression", NO_RATE),
        ShortField("suppression_no_rtt", NO_RATE),
        ByteField("max_rtt", 0),
        ByteField("patience", 0),
        FieldLenField("length", None, length_of="data", fmt="!H"),
        IntField("clr", 0),
        IntField("echo_receiver", 0),
        LongField("echo_time_us", 0),
        IntField("echo_held_us", 0),
        ShortField("least_share", 0),
        ShortField("reserved16", 0),
        LongField("send_time_us", 0),
        LongField("offset", 0),
        StrLenField("data", b"", length_from=lambda packet: packet.length),
    ]


class TfmccReport(Packet):
    """REPORT."""

    name = "TFMCC REPORT"
    fields_desc = [  # noqa: RUF012
        IntField("receiver", 1),
        ShortField("round", 1),
        ShortField("rate", 0),
        ByteField("rtt", 0),
        ByteField("reserved", 0),
        ShortField("loss_rate", 0),
        ShortField("receive_rate", 0),
        ShortField("reserved16", 0),
        LongField("echo_time_us", 0),
        IntField("held_us", 0),
        LongField("time_us", 0),
    ]


class TfmccAnnounce(Packet):
    """ANNOUNCE."""

    name = "TFMCC ANNOUNCE"
    fields_desc = [LongField("time_us", 0)]  # noqa: RUF012


class TfmccJoin(Packet):
    """JOIN."""

    name = "TFMCC JOIN"
    fields_desc = [  # noqa: RUF012
        IntField("receiver", 1),
        LongField("echo_time_us", 0),
        IntField("held_us", 0),
        LongField("time_us", 0),
    ]


class TfmccJoinAck(Packet):
    """JOIN_ACK."""

    name = "TFMCC JOIN_ACK"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("reason", 0, _REASONS),
        ByteField("reserved8", 0),
        ShortField("reserved", 0),
        IntField("receiver", 0),
        LongField("echo_time_us", 0),
        LongField("time_us", 0),
    ]


class TfmccFin(Packet):
    """FIN and FIN_ACK."""

    name = "TFMCC FIN"
    fields_desc = [  # noqa: RUF012
        ByteField("complete", 0),
        ByteEnumField("reason", 0, _REASONS),
        ShortField("reserved", 0),
        IntField("receiver", 0),
    ]


class TfmccAbort(Packet):
    """ABORT."""

    name = "TFMCC ABORT"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("reason", 0, _REASONS),
        ByteField("reserved8", 0),
        ShortField("reserved", 0),
    ]


TFMCC_LAYERS: Final[Mapping[Type, type[Packet]]] = {
    Type.DATA: TfmccData,
    Type.REPORT: TfmccReport,
    Type.ANNOUNCE: TfmccAnnounce,
    Type.JOIN: TfmccJoin,
    Type.JOIN_ACK: TfmccJoinAck,
    Type.FIN: TfmccFin,
    Type.FIN_ACK: TfmccFin,
    Type.ABORT: TfmccAbort,
}
