"""Scapy layers for VLMCC's packets; hosts/dissect/layers.py binds them."""

from collections.abc import Mapping
from typing import Final

from scapy.fields import ByteEnumField, ByteField, FieldLenField, IntField, LongField, ShortField, StrLenField
from scapy.packet import Packet

from hosts.protocols.vlmcc.packets import Type
from hosts.wire.reason import Reason

_REASONS: Final = {int(reason): reason.name for reason in Reason}


class VlmccData(Packet):
    """DATA."""

    name = "VLMCC DATA"
    fields_desc = [  # noqa: RUF012
        IntField("seq", 0),
        IntField("leader", 0),
        IntField("rate", 0),
        IntField("rtt_us", 0),
        LongField("send_time_us", 0),
        LongField("offset", 0),
        FieldLenField("length", None, length_of="data", fmt="!H"),
        ShortField("receivers", 0),
        StrLenField("data", b"", length_from=lambda packet: packet.length),
    ]


class VlmccAck(Packet):
    """ACK."""

    name = "VLMCC ACK"
    fields_desc = [IntField("receiver", 1), IntField("seq", 0), LongField("time_comp_us", 0)]  # noqa: RUF012


class VlmccChallenge(Packet):
    """CHALLENGE."""

    name = "VLMCC CHALLENGE"
    fields_desc = [  # noqa: RUF012
        IntField("receiver", 1),
        IntField("rate", 1),
        IntField("cwnd", 1),
        IntField("rtt_us", 1),
        IntField("base_rtt_us", 1),
        IntField("seq", 0),
        LongField("time_comp_us", 0),
    ]


class VlmccStartRequest(Packet):
    """START_REQUEST."""

    name = "VLMCC START_REQUEST"
    fields_desc = [IntField("receiver", 1), IntField("reserved32", 0), LongField("time_us", 0)]  # noqa: RUF012


class VlmccStart(Packet):
    """START."""

    name = "VLMCC START"
    fields_desc = [  # noqa: RUF012
        IntField("receiver", 1),
        IntField("seq", 0),
        IntField("leader", 0),
        IntField("rate", 0),
        IntField("cwnd", 0),
        IntField("rtt_us", 0),
        LongField("time_comp_us", 0),
        LongField("time_us", 0),
    ]


class VlmccLeave(Packet):
    """LEAVE."""

    name = "VLMCC LEAVE"
    fields_desc = [  # noqa: RUF012
        IntField("receiver", 1),
        ByteEnumField("reason", 0, _REASONS),
        ByteField("reserved8", 0),
        ShortField("reserved", 0),
    ]


class VlmccAbort(Packet):
    """ABORT."""

    name = "VLMCC ABORT"
    fields_desc = [  # noqa: RUF012
        ByteEnumField("reason", 0, _REASONS),
        ByteField("reserved8", 0),
        ShortField("reserved", 0),
    ]


VLMCC_LAYERS: Final[Mapping[Type, type[Packet]]] = {
    Type.DATA: VlmccData,
    Type.ACK: VlmccAck,
    Type.CHALLENGE: VlmccChallenge,
    Type.START_REQUEST: VlmccStartRequest,
    Type.START: VlmccStart,
    Type.LEAVE: VlmccLeave,
    Type.ABORT: VlmccAbort,
}
