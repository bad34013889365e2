"""Arbor's packets: fixed-size fields after the common header, in network order.

DATA is multicast by the sender; where switches help it is TOLD_DATA, into which they write what they know of the way.
A receiver's REPORTs, its JOIN and its LEAVE are unicast to it; WELCOME is the answer
to a JOIN. ABORT ends the session. A file's receivers say by BLOCKS what they have and lack, and by FIN that they are
through, which FIN_ACK answers.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from hosts.parts.fec.pieces import NEED_BYTES, blocks_format, first_needs
from hosts.parts.runs import framing
from hosts.wire.checks import DataReader, check_size, read_header
from hosts.wire.farewell import Abort, Leave, MemberFin, abort_encoder, abort_format, leave_format, member_fin_format
from hosts.wire.fields import Flag, Number, Payload, Reserved, Size
from hosts.wire.format import Format, by_kind, decode_by_kind
from hosts.wire.header import IPV4_UDP_BYTES, MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason
from hosts.wire.sealed import OpenHead, end_of
from hosts.wire.units import MAX_U16, MAX_U32, MAX_U64

NUMBER: Final = 6
"""Arbor's protocol number in the common header."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    REPORT = 2
    JOIN = 3
    WELCOME = 4
    LEAVE = 5
    ABORT = 6
    FIN = 7
    FIN_ACK = 8
    BLOCKS = 9
    TOLD_DATA = 10


FLAG_END: Final = 0x01
FLAG_STARVED: Final = 0x02
FLAG_RESTARTING: Final = 0x04
FLAG_FILE: Final = 0x08
FLAG_ASSIST: Final = 0x10
FLAG_SUPPRESSED: Final = 0x20
FLAG_REPAIRED: Final = 0x40
FLAG_GATHERING: Final = 0x80
FLAG_SLOW_START: Final = 0x01
FLAG_SCALABLE: Final = 0x02
FLAG_TWIN: Final = 0x04
FLAG_MAY_SUPPRESS: Final = 0x20
"""Of REPORT; the last two of BLOCKS, the last one of JOIN and WELCOME, too."""

NO_RECEIVER: Final = 0

_MAY_SUPPRESS: Final = Flag("may_suppress", FLAG_MAY_SUPPRESS, "a switch may judge it; DATA has `assist`")
_TWIN: Final = Flag("twin", FLAG_TWIN, "said just before, too, so that a switch may judge it")
_MAY_ANSWER: Final = Flag("may_suppress", FLAG_MAY_SUPPRESS, "a switch may answer it, or learns from the answer")
_RECEIVER: Final = Number("receiver", 32, "receiver id", least=1)


class Data(NamedTuple):
    """One packet of the stream."""

    session: int
    flags: int
    seq: int
    limiting: int
    rate: int
    rtt_us: int
    send_time_us: int
    offset: int
    receivers: int
    payload: bytes


class ToldData(NamedTuple):
    """One packet of the stream, and what the switches on its way have told."""

    session: int
    flags: int
    seq: int
    limiting: int
    rate: int
    rtt_us: int
    send_time_us: int
    offset: int
    receivers: int
    payload: bytes
    waited_us: int = 0
    longest_us: int = 0
    gap_us: int = 0
    gap_bytes: int = 0
    at: int = 0
    hops: int = 0


_BEGINNING: Final = (
    Number("seq", 32, "counts DATA packets from 0", wraps=True),
    Number("limiting", 32, "receiver id of whose window the sender goes by; 0: nobody's"),
    Number("rate", 32, "that window over its rtt, in packets per 1,000 s"),
    Number("rtt_us", 32, "that rtt, as the sender measures it; 0: not yet"),
)
_TOLD: Final = (
    Number("waited_us", 32, "by switches: the time in their queues so far"),
    Number("longest_us", 32, "the longest of these waits"),
    Number("gap_us", 32, "how long the link after that queue took for the packet before; 0: the link was idle"),
    Number("gap_bytes", 16, "that packet's length on the link"),
    Number("at", 8, "which of the switches that was, from 1"),
    Number("hops", 8, "switches that have told"),
)
_END: Final = (
    Number("send_time_us", 64, "sender's clock"),
    Number("offset", 64, "of the payload's first byte in the stream"),
    Size("length", 16, "bytes of payload", of="payload"),
    Number("receivers", 16, "how many the sender knows of, or waits for (65,535: that many or more)", cut=True),
    Payload("data", "the stream's bytes, or a file's blocks", "payload"),
)
_DATA_FLAGS: Final = (
    Flag("end", FLAG_END, "the stream ends here"),
    Flag("starved", FLAG_STARVED, "something else than the window limits the rate"),
    Flag("restarting", FLAG_RESTARTING, "reports have failed to come: the window is not in use yet"),
    Flag("file", FLAG_FILE, "the payload is a piece of a file"),
    Flag("assist", FLAG_ASSIST, "switches may suppress what others have said, and tell of their queues"),
    Flag("suppressed", FLAG_SUPPRESSED, "set on the way by a switch that does so: all may speak at once"),
    Flag("repaired", FLAG_REPAIRED, "the payload is one of a stream whose losses are repaired, or a repair"),
    Flag("gathering", FLAG_GATHERING, "many receivers are still to join, each in its place among all"),
)

DATA: Final = Format(NUMBER, Type.DATA, Data, *_BEGINNING, *_END, flags=_DATA_FLAGS)
TOLD_DATA: Final = Format(NUMBER, Type.TOLD_DATA, ToldData, *_BEGINNING, *_TOLD, *_END, flags=_DATA_FLAGS)


class Report(NamedTuple):
    """What a receiver wants: the window that a TCP on its path would have; unicast."""

    session: int
    receiver: int
    cwnd: int
    rtt_us: int
    rate: int
    seq: int
    time_comp_us: int
    slow_start: bool = False
    scalable: bool = False
    twin: bool = False
    may_suppress: bool = False


REPORT: Final = Format(
    NUMBER,
    Type.REPORT,
    Report,
    _RECEIVER,
    Number("cwnd", 32, "its window, in 1/1,000 packets", least=1),
    Number("rtt_us", 32, "its smoothed rtt", least=1),
    Number("rate", 32, "the one over the other, in packets per 1,000 s: what switches compare"),
    Number("seq", 32, "of the last DATA packet that arrived", wraps=True),
    Number("time_comp_us", 64, "that packet's send_time_us and the time that it waited at the receiver", cut=True),
    flags=(
        Flag("slow_start", FLAG_SLOW_START, "its window doubles in a round trip"),
        Flag("scalable", FLAG_SCALABLE, "a queue that is kept short by marks limits it: bursts would be marked"),
        _TWIN,
        _MAY_SUPPRESS,
    ),
)


class Join(NamedTuple):
    """A receiver takes part, and measures its rtt; unicast."""

    session: int
    receiver: int
    time_us: int
    time_comp_us: int
    stands_for: int = 1
    may_suppress: bool = False


JOIN: Final = Format(
    NUMBER,
    Type.JOIN,
    Join,
    _RECEIVER,
    Number("stands_for", 32, "receivers: itself, and those that switches have answered since the last one that passed"),
    Number("time_us", 64, "receiver's clock"),
    Number("time_comp_us", 64, "as in REPORT", cut=True),
    flags=(_MAY_ANSWER,),
)


class Welcome(NamedTuple):
    """The answer, unicast by the sender or in its name by a switch."""

    session: int
    receiver: int
    time_comp_us: int
    time_us: int
    reason: Reason = Reason.NONE
    may_suppress: bool = False


WELCOME: Final = Format(
    NUMBER,
    Type.WELCOME,
    Welcome,
    Number("receiver", 32, "whom it answers", least=1),
    Number("reason", 8, "NONE when it is welcome", kind=Reason),
    Reserved("reserved8", 8),
    Reserved("reserved", 16),
    Number("time_comp_us", 64, "the request's `time_us` and the time at the sender"),
    Number("time_us", 64, "sender's clock"),
    flags=(_MAY_ANSWER,),
)


LEAVE: Final = leave_format(NUMBER, Type.LEAVE)
ABORT: Final = abort_format(NUMBER, Type.ABORT)
FIN: Final = member_fin_format(NUMBER, Type.FIN, Type.FIN_ACK)
"""Of a file's receiver, as BLOCKS is."""


class Blocks(NamedTuple):
    """What a receiver has of a file: a BlockStatus that switches may judge. Of a stream with a deadline, what it lacks
    of which blocks (by the number of a packet of theirs), and in `delivered` the DATA packets that it has lost so far.
    """

    session: int
    receiver: int
    seq: int
    delivered: int
    needs: tuple[tuple[int, int], ...]
    twin: bool = False
    may_suppress: bool = False


BLOCKS: Final = blocks_format(NUMBER, Type.BLOCKS, Blocks, _TWIN, _MAY_SUPPRESS)
JUDGED_BLOCKS_BYTES: Final = BLOCKS.size + NEED_BYTES
"""What switches judge has one need."""

OPEN_HEADS: Final = {
    int(Type.TOLD_DATA): OpenHead(end_of(TOLD_DATA, "hops"), flags=FLAG_ASSIST, told=FLAG_SUPPRESSED),
    int(Type.REPORT): OpenHead(REPORT.size, flags=FLAG_MAY_SUPPRESS, is_vouched=True),
    int(Type.BLOCKS): OpenHead(JUDGED_BLOCKS_BYTES, flags=FLAG_MAY_SUPPRESS, is_vouched=True),
}
"""What p4src/assist/arbor reads."""

PACKETS: Final = (DATA, REPORT, JOIN, WELCOME, LEAVE, ABORT, FIN, BLOCKS, TOLD_DATA)
AnyData: TypeAlias = Data | ToldData
Packet: TypeAlias = AnyData | Report | Join | Welcome | Leave | Abort | MemberFin | Blocks

# Hot paths pack and unpack with the structs themselves.
_DATA: Final = DATA.struct
_TOLD_DATA: Final = TOLD_DATA.struct
_REPORT: Final = REPORT.struct
_CONTROL: Final[dict[int, Format[Packet]]] = by_kind((JOIN, WELCOME, LEAVE, ABORT, FIN, BLOCKS))

DATA_BYTES: Final = _DATA.size
TOLD_DATA_BYTES: Final = _TOLD_DATA.size
STREAM: Final = framing(DATA)
"""Several of them together."""
TOLD_STREAM: Final = framing(TOLD_DATA)
"""The same of TOLD_DATA, as they leave: what is told on the way differs."""
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - TOLD_DATA_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""With TOLD_DATA's header, UDP and IPv4 it fits an MTU of 1,500."""


def packet_bytes(payload_bytes: int, told: bool = False) -> int:
    """Bytes of the IP packet that carries so much payload, in DATA or TOLD_DATA."""
    return payload_bytes + (TOLD_DATA_BYTES if told else DATA_BYTES) + IPV4_UDP_BYTES


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32; `receivers` is cut off at 65,535."""
    return _data_head(data, len(data.payload)) + data.payload


def encode_told_data(data: Data) -> bytes:
    """A TOLD_DATA packet of which nothing was told yet. As `encode_data`."""
    return _told_data_head(data, len(data.payload)) + data.payload


def encode_run(data: Data, size: int) -> bytes:
    """DATA packets one after the other, each with `size` bytes of the payload, which say the same otherwise."""
    return STREAM.frame(_data_head(data, size), data.payload, size)


def encode_told_run(data: Data, size: int) -> bytes:
    """TOLD_DATA packets likewise."""
    return TOLD_STREAM.frame(_told_data_head(data, size), data.payload, size)


def _data_head(data: Data, size: int) -> bytes:
    return _head(data, size, _DATA, Type.DATA)


def _told_data_head(data: Data, size: int) -> bytes:
    return _head(data, size, _TOLD_DATA, Type.TOLD_DATA, (0, 0, 0, 0, 0, 0))


def _head(data: Data, size: int, struct: Struct, kind: Type, told: tuple[int, ...] = ()) -> bytes:
    session, flags, seq, limiting, rate, rtt_us, sent_us, offset, receivers, _ = data
    return struct.pack(
        *(VERSION, NUMBER, kind, flags, session, seq & MAX_U32, limiting, rate, rtt_us),
        *told,
        *(sent_us, offset, size, min(receivers, MAX_U16)),
    )


def encode_report(report: Report) -> bytes:
    """A REPORT. `seq` is taken modulo 2^32. A sender's clock may show anything: the time is cut."""
    session, receiver, cwnd, rtt_us, rate, seq, time_comp_us, slow_start, scalable, twin, may_suppress = report
    return _REPORT.pack(
        VERSION,
        NUMBER,
        Type.REPORT,
        FLAG_SLOW_START * slow_start | FLAG_SCALABLE * scalable | FLAG_TWIN * twin | FLAG_MAY_SUPPRESS * may_suppress,
        session,
        receiver,
        cwnd,
        rtt_us,
        rate,
        seq & MAX_U32,
        min(time_comp_us, MAX_U64),
    )


def encode_blocks(blocks: Blocks) -> bytes:
    """A BLOCKS; with the first needs."""
    return BLOCKS.encode(blocks._replace(needs=first_needs(blocks.needs)))


encode_abort: Final = abort_encoder(ABORT)
"""An ABORT."""


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    kind, flags, session = read_header(data, NUMBER)
    if kind == Type.DATA:
        return _parse_data(data)
    if kind == Type.TOLD_DATA:
        return _parse_told_data(data)
    if kind == Type.REPORT:
        check_size(len(data), _REPORT.size)
        said = tuple(bool(flags & flag) for flag in (FLAG_SLOW_START, FLAG_SCALABLE, FLAG_TWIN, FLAG_MAY_SUPPRESS))
        report = Report._make((*_REPORT.unpack(data)[4:], *said))
        if 0 in report[1:4]:
            raise PacketError("value")
        return report
    return decode_by_kind(_CONTROL, data, kind, flags, session)


def _parse_data(data: bytes) -> Data:
    if len(data) < DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, *fields, length, receivers = _DATA.unpack_from(data)
    check_size(len(data), DATA_BYTES + length)
    return Data._make((session, flags, *fields, receivers, data[DATA_BYTES:]))


def _parse_told_data(data: bytes) -> ToldData:
    if len(data) < TOLD_DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, *fields = _TOLD_DATA.unpack_from(data)
    seq, limiting, rate, rtt_us, waited_us, longest_us, gap_us, gap_bytes, at, hops, *fields, length, receivers = fields
    check_size(len(data), TOLD_DATA_BYTES + length)
    told = (waited_us, longest_us, gap_us, gap_bytes, at, hops)
    payload = data[TOLD_DATA_BYTES:]
    return ToldData._make((session, flags, seq, limiting, rate, rtt_us, *fields, receivers, payload, *told))


parse_data: Final = DataReader[AnyData](NUMBER, Type.DATA, _parse_data)
"""A DATA packet, or None for anything else, which `parse` then judges."""
parse_told_data: Final = DataReader[AnyData](NUMBER, Type.TOLD_DATA, _parse_told_data)
"""The same of TOLD_DATA."""
