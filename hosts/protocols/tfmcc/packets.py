"""TFMCC's packets: fixed-size fields after the common header, in network order; what RFC 4654 (2.2) asks for.

DATA, multicast by the sender; the header's flags: 0x01 END, 0x02 SLOWSTART, 0x04 ECHO (the echo fields are set), 0x08
SUPPRESSION_LOSS (the suppression rates are from reports with a loss; others suppress nothing for them), 0x10 ASSIST
(switches may suppress reports), 0x20 SUPPRESSED (set on the way by a switch that does so: reports may come at once, for
many of them end there). Byte offsets count from the datagram's start:

     8  seq                 32  counts DATA packets from 0
    12  round               16  feedback round (2.5), from 1; the next one cancels all timers of this one
    14  rate                16  sending rate now, a rate float
    16  suppression         16  least rate of this round's reports with a valid RTT; NO_RATE: none yet
    18  suppression_no_rtt  16  the same of reports without one; neither suppresses the other
    20  max_rtt              8  largest RTT of the receivers, an RTT float; T follows from it and from `rate`
    21  patience             8  an RTT float: T / b, so long a report silences others before the sender confirms it
    22  length              16  bytes of payload
    24  clr                 32  receiver id of the current limiting receiver; 0: none, then anybody may report
    28  echo_receiver       32  whose report is echoed (2.4.2)
    32  echo_time_us        64  its `time_us`
    40  echo_held_us        32  from that report's arrival to this packet's departure
    44  least_share         16  in 1/65536: a report passes when it is at most this share of the least one
    46  reserved            16
    48  send_time_us        64  sender's clock
    56  offset              64  of the payload's first byte in the stream

REPORT, unicast to the sender; flags: 0x01 HAVE_RTT (`rtt` is measured), 0x02 HAVE_LOSS (`rate` is Eq. (1)'s, else the
receive rate), 0x04 LEAVE, 0x08 FROM_CLR (sent as the CLR, without suppression), 0x10 FIRST_LOSS (the first report of a
loss by this receiver), 0x20 MAY_SUPPRESS (a switch may judge it; DATA has ASSIST):

     8  receiver            32  receiver id, random, not 0
    12  round               16  of the last DATA that arrived
    14  rate                16  a rate float
    16  rtt                  8  an RTT float: that which `rate` was computed with
    17  reserved             8
    18  loss_rate           16  loss event rate in 1/65535, rounded up; 0: no loss yet
    20  receive_rate        16  a rate float
    22  reserved            16
    24  echo_time_us        64  send_time_us of the last DATA that arrived
    32  held_us             32  from that packet's arrival to this report's departure
    36  time_us             64  receiver's clock, to be echoed

For a switch: 12-bit floats are right-aligned in 16 bits, their upper 4 bits 0; they order as integers, as RTT floats do
(`rate_float.py`). Round, CLR, maximum RTT and the confirmed minima come from DATA on its way down; docs/assist.md says
which reports it may suppress.

The other packets open and close a session whose sender wants to know its receivers (a file's); a session of real-time
data has none of them but ABORT.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
import struct
from math import ceil
from typing import Final, NamedTuple, TypeAlias

from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.wire.checks import DataReader, check_size, read_header, to_bool, to_reason
from hosts.wire.farewell import Abort, pack_abort, read_abort
from hosts.wire.header import IPV4_UDP_BYTES, MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason

NUMBER: Final = 2
"""TFMCC's protocol number in the common header."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    REPORT = 2
    ANNOUNCE = 3
    JOIN = 4
    JOIN_ACK = 5
    FIN = 6
    FIN_ACK = 7
    ABORT = 8


FLAG_END: Final = 0x01
FLAG_SLOWSTART: Final = 0x02
FLAG_ECHO: Final = 0x04
FLAG_SUPPRESSION_LOSS: Final = 0x08
FLAG_ASSIST: Final = 0x10
FLAG_SUPPRESSED: Final = 0x20

FLAG_HAVE_RTT: Final = 0x01
FLAG_HAVE_LOSS: Final = 0x02
FLAG_LEAVE: Final = 0x04
FLAG_FROM_CLR: Final = 0x08
FLAG_FIRST_LOSS: Final = 0x10
FLAG_MAY_SUPPRESS: Final = 0x20

NO_RECEIVER: Final = 0
LOSS_UNIT: Final = 65535
"""Codes of a loss event rate of 1."""
SHARE_UNIT: Final = 65536
"""Codes of a share of 1, which itself has none."""
_MAX_U32: Final = 2**32 - 1


class Data(NamedTuple):
    """One packet of the stream."""

    session: int
    flags: int
    seq: int  # 32 bits on the wire
    round: int  # 16 bits on the wire
    rate: int  # rate float
    suppression: int  # rate float, NO_RATE: none
    suppression_no_rtt: int
    max_rtt: int  # RTT float
    clr: int
    echo_receiver: int
    echo_time_us: int  # receiver's clock
    echo_held_us: int
    send_time_us: int  # sender's clock
    offset: int  # of the payload's first byte in the stream
    payload: bytes
    patience: int = 0  # RTT float
    least_share: int = 0  # in 1/SHARE_UNIT


class Report(NamedTuple):
    """A receiver's feedback."""

    session: int
    flags: int
    receiver: int
    round: int
    rate: int  # rate float
    rtt: int  # RTT float
    loss_rate: int  # in 1/LOSS_UNIT
    receive_rate: int  # rate float
    echo_time_us: int  # sender's clock
    held_us: int
    time_us: int  # receiver's clock


class Announce(NamedTuple):
    """Multicast by a sender that waits for receivers: join me at the address this comes from."""

    session: int
    time_us: int  # sender's clock, to come back in a JOIN


class Join(NamedTuple):
    """A receiver wants to take part."""

    session: int
    receiver: int
    echo_time_us: int  # of the ANNOUNCE (or JOIN_ACK) that it answers
    held_us: int
    time_us: int  # receiver's clock


class JoinAck(NamedTuple):
    """The answer; `reason` is NONE when it is welcome. It echoes the JOIN, so that the receiver measures its RTT."""

    session: int
    reason: Reason
    receiver: int
    echo_time_us: int  # the JOIN's `time_us`
    time_us: int  # sender's clock


class Fin(NamedTuple):
    """A receiver's last word (`answer` False), or the sender's receipt for it."""

    session: int
    answer: bool
    complete: bool
    reason: Reason
    receiver: int


Packet: TypeAlias = Data | Report | Announce | Join | JoinAck | Fin | Abort

# Field layouts with the common header; hosts/dissect/layers.py says the same in Scapy's terms.
DATA: Final = struct.Struct("!BBBBIIHHHHBBHIIQIH2xQQ")
REPORT: Final = struct.Struct("!BBBBIIHHBxHH2xQIQ")
ANNOUNCE: Final = struct.Struct("!BBBBIQ")
JOIN: Final = struct.Struct("!BBBBIIQIQ")
JOIN_ACK: Final = struct.Struct("!BBBBIB3xIQQ")
FIN: Final = struct.Struct("!BBBBIBB2xI")

DATA_BYTES: Final = DATA.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - DATA_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""With DATA's header, UDP and IPv4 1,492 bytes: it fits an MTU of 1,500."""


def packet_bytes(payload_bytes: int) -> int:
    """Eq. (1)'s s: bytes of the IP packet that carries so much payload."""
    return payload_bytes + DATA_BYTES + IPV4_UDP_BYTES


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32, `round` modulo 2^16."""
    return (
        DATA.pack(
            VERSION,
            NUMBER,
            Type.DATA,
            data.flags,
            data.session,
            data.seq & _MAX_U32,
            data.round & 0xFFFF,
            data.rate,
            data.suppression,
            data.suppression_no_rtt,
            data.max_rtt,
            data.patience,
            len(data.payload),
            data.clr,
            data.echo_receiver,
            data.echo_time_us,
            min(data.echo_held_us, _MAX_U32),
            data.least_share,
            data.send_time_us,
            data.offset,
        )
        + data.payload
    )


def encode_report(report: Report) -> bytes:
    """A REPORT. `round` is taken modulo 2^16."""
    return REPORT.pack(
        VERSION,
        NUMBER,
        Type.REPORT,
        report.flags,
        report.session,
        report.receiver,
        report.round & 0xFFFF,
        report.rate,
        report.rtt,
        report.loss_rate,
        report.receive_rate,
        report.echo_time_us,
        min(report.held_us, _MAX_U32),
        report.time_us,
    )


def encode_share(share: float) -> int:
    """A share below 1 of the least rate; not below a half, which is the least that switches reckon with."""
    return max(SHARE_UNIT // 2, min(int(share * SHARE_UNIT), SHARE_UNIT - 1))


def encode_loss_rate(p: float) -> int:
    """A loss event rate as a report carries it."""
    return min(ceil(p * LOSS_UNIT), LOSS_UNIT)


def encode_announce(session: int, time_us: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.pack(VERSION, NUMBER, Type.ANNOUNCE, 0, session, time_us)


def encode_join(join: Join) -> bytes:
    """A JOIN."""
    held = min(join.held_us, _MAX_U32)
    return JOIN.pack(VERSION, NUMBER, Type.JOIN, 0, join.session, join.receiver, join.echo_time_us, held, join.time_us)


def encode_join_ack(answer: JoinAck) -> bytes:
    """A JOIN_ACK; Reason.NONE admits."""
    return JOIN_ACK.pack(
        VERSION,
        NUMBER,
        Type.JOIN_ACK,
        0,
        answer.session,
        answer.reason,
        answer.receiver,
        answer.echo_time_us,
        answer.time_us,
    )


def encode_fin(fin: Fin) -> bytes:
    """A FIN, or the FIN_ACK to one."""
    kind = Type.FIN_ACK if fin.answer else Type.FIN
    return FIN.pack(VERSION, NUMBER, kind, 0, fin.session, fin.complete, fin.reason, fin.receiver)


def encode_abort(session: int, reason: Reason) -> bytes:
    """An ABORT."""
    return pack_abort(NUMBER, Type.ABORT, session, reason)


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    size = len(data)
    kind, flags, session = read_header(data, NUMBER)
    if kind == Type.DATA:
        return _parse_data(data)
    if kind == Type.REPORT:
        check_size(size, REPORT.size)
        report = Report(flags=flags, session=session, **_report_fields(data))
        if report.rate >= NO_RATE or report.receive_rate >= NO_RATE or report.receiver == NO_RECEIVER:
            raise PacketError("value")
        return report
    return _parse_control(data, kind, session)


def _parse_data(data: bytes) -> Data:
    size = len(data)
    if size < DATA_BYTES:
        raise PacketError("truncated")
    fields = DATA.unpack_from(data)
    check_size(size, DATA_BYTES + fields[12])
    if fields[7] >= NO_RATE or fields[8] > NO_RATE or fields[9] > NO_RATE:
        raise PacketError("value")
    # session, flags, seq ... max_rtt, clr ... echo_held_us, send_time_us, offset; patience, least_share
    head = (fields[4], fields[3], *fields[5:11], *fields[13:17], *fields[18:])
    return Data._make((*head, data[DATA_BYTES:], fields[11], fields[17]))


parse_data: Final = DataReader(NUMBER, Type.DATA, _parse_data)
"""A DATA packet, or None for anything else, which `parse` then judges."""


def _report_fields(data: bytes) -> dict[str, int]:
    return dict(zip(Report._fields[2:], REPORT.unpack(data)[5:], strict=True))


def _parse_control(data: bytes, kind: int, session: int) -> Packet:
    size = len(data)
    if kind == Type.ANNOUNCE:
        check_size(size, ANNOUNCE.size)
        return Announce(session, ANNOUNCE.unpack(data)[5])
    if kind == Type.JOIN:
        check_size(size, JOIN.size)
        join = Join(session, *JOIN.unpack(data)[5:])
        if join.receiver == NO_RECEIVER:
            raise PacketError("value")
        return join
    if kind == Type.JOIN_ACK:
        check_size(size, JOIN_ACK.size)
        reason, *rest = JOIN_ACK.unpack(data)[5:]
        return JoinAck(session, to_reason(reason), *rest)
    if kind in (Type.FIN, Type.FIN_ACK):
        check_size(size, FIN.size)
        complete, reason, receiver = FIN.unpack(data)[5:]
        return Fin(session, kind == Type.FIN_ACK, to_bool(complete), to_reason(reason), receiver)
    if kind == Type.ABORT:
        return read_abort(data)
    raise PacketError("type")
