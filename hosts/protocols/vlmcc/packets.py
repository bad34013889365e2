"""VLMCC's packets (2.2 to 2.4, Fig. 2): fixed-size fields after the common header, in network order.

DATA is multicast by the sender; the leader's ACKs or REPORTs, followers' CHALLENGEs, START_REQUEST and the answer are
unicast. `rules` decide between ACK (paper) and REPORT (adaptive), which says more and survives the loss of some.
LEAVE is a leader's last word; ABORT ends the session, or (by unicast) one receiver's part in it.

For a switch: a challenge is worse the lower its rate. The leader, whether there is one and whether it settles come from
DATA on its way down; docs/assist.md has the rules. START_REQUEST and LEAVE always pass.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
from typing import Final, NamedTuple, TypeAlias

from hosts.parts.runs import framing
from hosts.wire.checks import DataReader, check_size, read_header
from hosts.wire.farewell import Abort, Leave, abort_encoder, abort_format, leave_format
from hosts.wire.fields import Flag, Number, Payload, Reserved, Size
from hosts.wire.format import Format, by_kind, decode_by_kind
from hosts.wire.header import IPV4_UDP_BYTES, MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.sealed import OpenHead, end_of
from hosts.wire.units import MAX_U16, MAX_U32, MAX_U64

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
    REPORT = 8


FLAG_END: Final = 0x01
FLAG_SLOW_START: Final = 0x02
FLAG_SETTLING: Final = 0x04
FLAG_DRAINING: Final = 0x08
FLAG_ASSIST: Final = 0x10
FLAG_SUPPRESSED: Final = 0x20
FLAG_MAY_SUPPRESS: Final = 0x20
"""Of CHALLENGE."""
FLAG_BESIDE_OTHERS: Final = 0x40
FLAG_TWIN: Final = 0x01
"""Of DATA and CHALLENGE."""

NO_RECEIVER: Final = 0

_RECEIVER: Final = Number("receiver", 32, "receiver id", least=1)


def _seq(meaning: str) -> Number:
    return Number("seq", 32, meaning, wraps=True)


class Data(NamedTuple):
    """One packet of the stream, multicast by the sender."""

    session: int
    flags: int
    seq: int
    leader: int
    rate: int
    rtt_us: int
    send_time_us: int
    offset: int
    receivers: int
    payload: bytes


DATA: Final = Format(
    NUMBER,
    Type.DATA,
    Data,
    _seq("counts DATA packets from 0"),
    Number("leader", 32, "receiver id of the leader, who acknowledges this packet; 0: there is none"),
    Number("rate", 32, "W / rtt of the sender, in packets per 1,000 s"),
    Number("rtt_us", 32, "the sender's smoothed rtt to the leader"),
    Number("send_time_us", 64, "sender's clock (the paper's tstamp; the difference of two is its drift_prev)"),
    Number("offset", 64, "of the payload's first byte in the stream"),
    Size("length", 16, "bytes of payload", of="payload"),
    Number("receivers", 16, "how many the sender knows of (65,535: that many or more)", cut=True),
    Payload("data", "the stream's bytes", "payload"),
    flags=(
        Flag("end", FLAG_END, "the stream ends here"),
        Flag("slow_start", FLAG_SLOW_START, "the sender's window doubles"),
        Flag("settling", FLAG_SETTLING, "the leader is new, and challenges are ignored"),
        Flag("draining", FLAG_DRAINING, "the sender takes its packets out of the queue (`rules: adaptive`)"),
        Flag("assist", FLAG_ASSIST, "switches may suppress challenges"),
        Flag("suppressed", FLAG_SUPPRESSED, "set on the way by a switch that does so: challenges may come at once"),
        Flag("beside_others", FLAG_BESIDE_OTHERS, "somebody else fills the leader's queue (`rules: adaptive`)"),
    ),
)


class Ack(NamedTuple):
    """The leader has a packet; unicast, one for every DATA packet that names it."""

    session: int
    receiver: int
    seq: int
    time_comp_us: int


ACK: Final = Format(
    NUMBER,
    Type.ACK,
    Ack,
    _RECEIVER,
    _seq("of the packet"),
    Number(
        "time_comp_us",
        64,
        "its send_time_us and the time that the packet waited at the leader (the paper's tstamp_comp)",
        cut=True,
    ),
)


class Report(NamedTuple):
    """An ACK under `rules: adaptive`."""

    session: int
    receiver: int
    seq: int
    time_comp_us: int
    waiting_us: int
    have: int
    marked: int


REPORT: Final = Format(
    NUMBER,
    Type.REPORT,
    Report,
    _RECEIVER,
    _seq("of the packet"),
    Number("time_comp_us", 64, "as in ACK", cut=True),
    Number("waiting_us", 32, "the time that the packet waited in queues on its way here", cut=True),
    Number("have", 32, "of the 32 packets before it those that have arrived; the lowest bit is the last one's"),
    Number("marked", 16, "how many packets have come with a mark of congestion (ECN), modulo 2^16", wraps=True),
    Reserved("reserved16", 16),
)
REPORTED_BEFORE: Final = 32
"""Packets before its own of which a REPORT tells."""


class Challenge(NamedTuple):
    """A follower that finds itself worse off than the leader wants to lead; unicast."""

    session: int
    receiver: int
    rate: int
    cwnd: int
    rtt_us: int
    base_rtt_us: int
    seq: int
    time_comp_us: int
    may_suppress: bool = False
    beside_others: bool = False
    twin: bool = False


CHALLENGE: Final = Format(
    NUMBER,
    Type.CHALLENGE,
    Challenge,
    _RECEIVER,
    Number("rate", 32, "W / rtt as the follower calculates it, in packets per 1,000 s: the lower, the worse", least=1),
    Number("cwnd", 32, "its window, in 1/1,000 packets", least=1),
    Number("rtt_us", 32, "its smoothed rtt", least=1),
    Number("base_rtt_us", 32, "its least rtt", least=1),
    _seq("of the last DATA packet that arrived"),
    Number("time_comp_us", 64, "as in ACK, of that packet", cut=True),
    flags=(
        Flag("may_suppress", FLAG_MAY_SUPPRESS, "a switch may judge it; DATA has `assist`"),
        Flag("beside_others", FLAG_BESIDE_OTHERS, "somebody else fills its queue (`rules: adaptive`)"),
        Flag("twin", FLAG_TWIN, "said just before, too, so that a switch may judge it"),
    ),
)


class StartRequest(NamedTuple):
    """A receiver measures its rtt; unicast."""

    session: int
    receiver: int
    time_us: int


START_REQUEST: Final = Format(
    NUMBER,
    Type.START_REQUEST,
    StartRequest,
    _RECEIVER,
    Reserved("reserved32", 32),
    Number("time_us", 64, "receiver's clock"),
)


class Start(NamedTuple):
    """The answer, unicast by the sender, and where the session stands."""

    session: int
    receiver: int
    seq: int
    leader: int
    rate: int
    cwnd: int
    rtt_us: int
    time_comp_us: int
    time_us: int


START: Final = Format(
    NUMBER,
    Type.START,
    Start,
    Number("receiver", 32, "whom it answers", least=1),
    _seq("of the next DATA packet"),
    Number("leader", 32, "as in DATA"),
    Number("rate", 32, "as in DATA"),
    Number("cwnd", 32, "the sender's, in 1/1,000 packets"),
    Number("rtt_us", 32, "as in DATA"),
    Number("time_comp_us", 64, "the request's `time_us` and the time at the sender"),
    Number("time_us", 64, "sender's clock"),
)


LEAVE: Final = leave_format(NUMBER, Type.LEAVE)
ABORT: Final = abort_format(NUMBER, Type.ABORT)

OPEN_HEADS: Final = {
    int(Type.DATA): OpenHead(end_of(DATA, "leader"), flags=FLAG_ASSIST, told=FLAG_SUPPRESSED),
    int(Type.CHALLENGE): OpenHead(CHALLENGE.size, flags=FLAG_MAY_SUPPRESS, is_vouched=True),
}
"""What p4src/assist/vlmcc reads."""

PACKETS: Final = (DATA, ACK, CHALLENGE, START_REQUEST, START, LEAVE, ABORT, REPORT)
Packet: TypeAlias = Data | Ack | Challenge | StartRequest | Start | Leave | Abort | Report

# Hot paths pack and unpack with the structs themselves.
_DATA: Final = DATA.struct
_ACK: Final = ACK.struct
_REPORT: Final = REPORT.struct
_CHALLENGE: Final = CHALLENGE.struct
_CONTROL: Final[dict[int, Format[Packet]]] = by_kind((START_REQUEST, START, LEAVE, ABORT))

DATA_BYTES: Final = _DATA.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - DATA_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""With DATA's header, UDP and IPv4 1,472 bytes: it fits an MTU of 1,500."""


def packet_bytes(payload_bytes: int) -> int:
    """Bytes of the IP packet that carries so much payload."""
    return payload_bytes + DATA_BYTES + IPV4_UDP_BYTES


STREAM: Final = framing(DATA)
"""Runs of DATA."""


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32; `receivers` is cut off at 65,535."""
    return _head(data, len(data.payload)) + data.payload


def encode_run(data: Data, size: int) -> bytes:
    """DATA packets one after the other, each with `size` bytes of the payload, which say the same otherwise."""
    return STREAM.frame(_head(data, size), data.payload, size)


def _head(data: Data, size: int) -> bytes:
    return _DATA.pack(
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
        size,
        min(data.receivers, MAX_U16),
    )


def encode_ack(ack: Ack) -> bytes:
    """An ACK. `seq` is taken modulo 2^32; what a sender's clock shows may be anything, so the time is cut."""
    session, receiver, seq, time_comp_us = ack
    return _ACK.pack(VERSION, NUMBER, Type.ACK, 0, session, receiver, seq & MAX_U32, min(time_comp_us, MAX_U64))


def encode_report(report: Report) -> bytes:
    """A REPORT. `seq`, the time and the count of marks are cut as an ACK's."""
    session, receiver, seq, time_comp_us, waiting_us, have, marked = report
    return _REPORT.pack(
        VERSION,
        NUMBER,
        Type.REPORT,
        0,
        session,
        receiver,
        seq & MAX_U32,
        min(time_comp_us, MAX_U64),
        min(waiting_us, MAX_U32),
        have,
        marked & MAX_U16,
    )


def encode_challenge(challenge: Challenge) -> bytes:
    """A CHALLENGE. `seq` and the time as in an ACK."""
    session, receiver, rate, cwnd, rtt_us, base_rtt_us, seq, time_comp_us, may_suppress, beside, twin = challenge
    return _CHALLENGE.pack(
        VERSION,
        NUMBER,
        Type.CHALLENGE,
        FLAG_MAY_SUPPRESS * may_suppress | FLAG_BESIDE_OTHERS * beside | FLAG_TWIN * twin,
        session,
        receiver,
        rate,
        cwnd,
        rtt_us,
        base_rtt_us,
        seq & MAX_U32,
        min(time_comp_us, MAX_U64),
    )


encode_start_request: Final = START_REQUEST.encode
"""A START_REQUEST."""


encode_start: Final = START.encode
"""A START. `seq` is taken modulo 2^32."""


encode_leave: Final = LEAVE.encode
"""A LEAVE."""


encode_abort: Final = abort_encoder(ABORT)
"""An ABORT."""


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    kind, flags, session = read_header(data, NUMBER)
    if kind == Type.DATA:
        return _parse_data(data)
    if kind == Type.ACK:
        check_size(len(data), _ACK.size)
        ack = Ack._make(_ACK.unpack(data)[4:])
        if ack.receiver == NO_RECEIVER:
            raise PacketError("value")
        return ack
    if kind == Type.REPORT:
        check_size(len(data), _REPORT.size)
        report = Report._make(_REPORT.unpack(data)[4:])
        if report.receiver == NO_RECEIVER:
            raise PacketError("value")
        return report
    if kind == Type.CHALLENGE:
        check_size(len(data), _CHALLENGE.size)
        told = (bool(flags & flag) for flag in (FLAG_MAY_SUPPRESS, FLAG_BESIDE_OTHERS, FLAG_TWIN))
        challenge = Challenge._make((*_CHALLENGE.unpack(data)[4:], *told))
        if 0 in challenge[1:6]:
            raise PacketError("value")
        return challenge
    return decode_by_kind(_CONTROL, data, kind, flags, session)


def _parse_data(data: bytes) -> Data:
    if len(data) < DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, *fields, length, receivers = _DATA.unpack_from(data)
    check_size(len(data), DATA_BYTES + length)
    return Data._make((session, flags, *fields, receivers, data[DATA_BYTES:]))


parse_data: Final = DataReader(NUMBER, Type.DATA, _parse_data)
"""A DATA packet, or None for anything else, which `parse` then judges."""
