"""VLMCC's packets (2.2 to 2.4, Fig. 2): fixed-size fields after the common header, in network order.

DATA, multicast by the sender; the header's flags: 0x01 END (the stream ends here), 0x02 SLOW_START (the sender's window
doubles), 0x04 SETTLING (the leader is new, and challenges are ignored), 0x10 ASSIST (switches may suppress challenges),
0x20 SUPPRESSED (set on the way by a switch that does so: challenges may come at once). Byte offsets count from the
datagram's start:

     8  seq            32  counts DATA packets from 0
    12  leader         32  receiver id of the leader, who acknowledges this packet; 0: there is none
    16  rate           32  W / rtt of the sender, in packets per 1,000 s
    20  rtt_us         32  the sender's smoothed rtt to the leader
    24  send_time_us   64  sender's clock (the paper's tstamp; the difference of two is its drift_prev)
    32  offset         64  of the payload's first byte in the stream
    40  length         16  bytes of payload
    42  receivers      16  how many the sender knows of (65,535: that many or more)

ACK, unicast by the leader, one for every DATA packet that names it:

     8  receiver       32  receiver id
    12  seq            32  of the packet
    16  time_comp_us   64  its send_time_us and the time that the packet waited at the leader (the paper's tstamp_comp)

CHALLENGE, unicast by a follower that finds itself worse off than the leader; flags: 0x20 MAY_SUPPRESS (a switch may
judge it; DATA has ASSIST):

     8  receiver       32
    12  rate           32  W / rtt as the follower calculates it, in packets per 1,000 s: the lower, the worse
    16  cwnd           32  its window, in 1/1,000 packets
    20  rtt_us         32  its smoothed rtt
    24  base_rtt_us    32  its least rtt
    28  seq            32  of the last DATA packet that arrived
    32  time_comp_us   64  as in ACK, of that packet

START_REQUEST, unicast by a receiver; and START, the answer, unicast by the sender:

     8  receiver       32                       8  receiver       32  whom it answers
    12  reserved       32                      12  seq            32  of the next DATA packet
    16  time_us        64  receiver's clock    16  leader         32
                                               20  rate           32  as in DATA
                                               24  cwnd           32  the sender's, in 1/1,000 packets
                                               28  rtt_us         32  as in DATA
                                               32  time_comp_us   64  `time_us` and the time at the sender
                                               40  time_us        64  sender's clock

LEAVE is a leader's last word; ABORT ends the session, or (by unicast) one receiver's part in it.

For a switch: a challenge is worse the lower its rate. The leader, whether there is one and whether it settles come from
DATA on its way down; docs/assist.md has the rules. START_REQUEST and LEAVE always pass.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
import struct
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from hosts.wire.checks import DataReader, check_size, read_header, to_reason
from hosts.wire.farewell import Abort, pack_abort, read_abort
from hosts.wire.header import IPV4_UDP_BYTES, MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason

NUMBER: Final = 5
"""VLMCC's protocol number in the common header."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    ACK = 2
    CHALLENGE = 3
    START_REQUEST = 4
    START = 5
    LEAVE = 6
    ABORT = 7


FLAG_END: Final = 0x01
FLAG_SLOW_START: Final = 0x02
FLAG_SETTLING: Final = 0x04
FLAG_ASSIST: Final = 0x10
FLAG_SUPPRESSED: Final = 0x20
FLAG_MAY_SUPPRESS: Final = 0x20
"""Of CHALLENGE."""

NO_RECEIVER: Final = 0
UNIT: Final = 1000
"""Of rates (packets per so many seconds) and windows (so many parts of a packet)."""
MAX_U16: Final = 2**16 - 1
MAX_U32: Final = 2**32 - 1
MAX_U64: Final = 2**64 - 1


class Data(NamedTuple):
    """One packet of the stream."""

    session: int
    flags: int
    seq: int  # 32 bits on the wire
    leader: int
    rate: int  # in 1/UNIT packets per second
    rtt_us: int
    send_time_us: int  # sender's clock
    offset: int  # of the payload's first byte in the stream
    receivers: int  # 16 bits on the wire
    payload: bytes


class Ack(NamedTuple):
    """The leader has a packet."""

    session: int
    receiver: int
    seq: int  # 32 bits on the wire
    time_comp_us: int  # sender's clock


class Challenge(NamedTuple):
    """A follower wants to lead."""

    session: int
    receiver: int
    rate: int  # in 1/UNIT packets per second
    cwnd: int  # in 1/UNIT packets
    rtt_us: int
    base_rtt_us: int
    seq: int  # 32 bits on the wire
    time_comp_us: int  # sender's clock
    may_suppress: bool = False


class StartRequest(NamedTuple):
    """A receiver measures its rtt."""

    session: int
    receiver: int
    time_us: int  # receiver's clock


class Start(NamedTuple):
    """The answer, and where the session stands."""

    session: int
    receiver: int
    seq: int  # 32 bits on the wire
    leader: int
    rate: int  # in 1/UNIT packets per second
    cwnd: int  # in 1/UNIT packets
    rtt_us: int
    time_comp_us: int  # receiver's clock
    time_us: int  # sender's clock


class Leave(NamedTuple):
    """A receiver goes."""

    session: int
    receiver: int
    reason: Reason


Control: TypeAlias = Ack | Challenge | StartRequest | Start | Leave
Packet: TypeAlias = Data | Control | Abort

# Field layouts with the common header; hosts/dissect/vlmcc.py says the same in Scapy's terms.
DATA: Final = struct.Struct("!BBBBIIIIIQQHH")
ACK: Final = struct.Struct("!BBBBIIIQ")
CHALLENGE: Final = struct.Struct("!BBBBIIIIIIIQ")
START_REQUEST: Final = struct.Struct("!BBBBII4xQ")
START: Final = struct.Struct("!BBBBIIIIIIIQQ")
LEAVE: Final = struct.Struct("!BBBBIIB3x")

DATA_BYTES: Final = DATA.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - DATA_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""With DATA's header, UDP and IPv4 1,472 bytes: it fits an MTU of 1,500."""


def packet_bytes(payload_bytes: int) -> int:
    """Bytes of the IP packet that carries so much payload."""
    return payload_bytes + DATA_BYTES + IPV4_UDP_BYTES


def to_units(value: float) -> int:
    """Packets, or packets per second, as they travel."""
    return min(MAX_U32, max(0, round(value * UNIT)))


def to_us(seconds: float) -> int:
    """A round trip time as it travels, 32 bits."""
    return min(MAX_U32, max(0, round(seconds * 1e6)))


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32; `receivers` is cut off at 65,535."""
    return (
        DATA.pack(
            VERSION,
            NUMBER,
            Type.DATA,
            data.flags,
            data.session,
            data.seq & MAX_U32,
            data.leader,
            data.rate,
            data.rtt_us,
            data.send_time_us,
            data.offset,
            len(data.payload),
            min(data.receivers, MAX_U16),
        )
        + data.payload
    )


def encode_ack(ack: Ack) -> bytes:
    """An ACK. `seq` is taken modulo 2^32; what a sender's clock shows may be anything, so the time is cut."""
    session, receiver, seq, time_comp_us = ack
    return ACK.pack(VERSION, NUMBER, Type.ACK, 0, session, receiver, seq & MAX_U32, min(time_comp_us, MAX_U64))


def encode_challenge(challenge: Challenge) -> bytes:
    """A CHALLENGE. `seq` and the time as in an ACK."""
    time_comp_us = min(challenge.time_comp_us, MAX_U64)
    *fields, may_suppress = challenge._replace(seq=challenge.seq & MAX_U32, time_comp_us=time_comp_us)
    return CHALLENGE.pack(VERSION, NUMBER, Type.CHALLENGE, FLAG_MAY_SUPPRESS * may_suppress, *fields)


def encode_start_request(request: StartRequest) -> bytes:
    """A START_REQUEST."""
    return START_REQUEST.pack(VERSION, NUMBER, Type.START_REQUEST, 0, *request)


def encode_start(start: Start) -> bytes:
    """A START. `seq` is taken modulo 2^32."""
    return START.pack(VERSION, NUMBER, Type.START, 0, *start._replace(seq=start.seq & MAX_U32))


def encode_leave(leave: Leave) -> bytes:
    """A LEAVE."""
    return LEAVE.pack(VERSION, NUMBER, Type.LEAVE, 0, *leave)


def encode_abort(session: int, reason: Reason) -> bytes:
    """An ABORT."""
    return pack_abort(NUMBER, Type.ABORT, session, reason)


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    kind, flags, _ = read_header(data, NUMBER)
    if kind == Type.DATA:
        return _parse_data(data)
    if kind == Type.ABORT:
        return read_abort(data)
    layout = _LAYOUTS.get(kind)
    if layout is None:
        raise PacketError("type")
    check_size(len(data), layout.size)
    packet = _MAKERS[kind](layout.unpack(data)[4:])
    if packet.receiver == NO_RECEIVER:
        raise PacketError("value")
    if isinstance(packet, Challenge):
        if 0 in (packet.rate, packet.cwnd, packet.rtt_us, packet.base_rtt_us):
            raise PacketError("value")
        return packet._replace(may_suppress=bool(flags & FLAG_MAY_SUPPRESS))
    return packet


def _make_leave(fields: Iterable[Any]) -> Leave:
    session, receiver, reason = fields
    return Leave(session, receiver, to_reason(reason))


_LAYOUTS: Final = {
    int(Type.ACK): ACK,
    int(Type.CHALLENGE): CHALLENGE,
    int(Type.START_REQUEST): START_REQUEST,
    int(Type.START): START,
    int(Type.LEAVE): LEAVE,
}
_MAKERS: Final[dict[int, Callable[[Iterable[Any]], Control]]] = {
    int(Type.ACK): Ack._make,
    int(Type.CHALLENGE): lambda fields: Challenge(*fields),
    int(Type.START_REQUEST): StartRequest._make,
    int(Type.START): Start._make,
    int(Type.LEAVE): _make_leave,
}


def _parse_data(data: bytes) -> Data:
    if len(data) < DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, *fields, length, receivers = DATA.unpack_from(data)
    check_size(len(data), DATA_BYTES + length)
    return Data._make((session, flags, *fields, receivers, data[DATA_BYTES:]))


parse_data: Final = DataReader(NUMBER, Type.DATA, _parse_data)
"""A DATA packet, or None for anything else, which `parse` then judges."""
