"""MTCP's packets: fixed-size fields after the common header, in network order.

DATA and REPAIR carry the stream; ACK and NACK, which differ in their type only, carry feedback and the congestion
summary (MTCP, 3.1 and 3.7). The rest builds and keeps the tree: tree_packets.py. Times are microseconds of the
clock that is named; sizes are bytes; sequence numbers count packets.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

from typing import Final, NamedTuple, TypeAlias

from hosts.parts.runs import framing
from hosts.protocols.mtcp.progress import (
    CUMULATIVE,
    ECHO,
    FLAG_MARKED,
    FLAG_NEEDLESS,
    HELD,
    MARKED,
    MAX_TWND,
    MIN_CWND,
    NEEDLESS,
    PROGRESS,
    REPAIR_ECHO,
    WINDOW,
    decode_progress,
)
from hosts.protocols.mtcp.tree_packets import CONTROL, PROBE, Control
from hosts.protocols.mtcp.wire import NUMBER, UNLIMITED, Type
from hosts.wire.checks import DataReader, check_size, read_header
from hosts.wire.fields import Bitmap, Flag, Number, Payload, Size
from hosts.wire.format import Format, by_kind, decode_by_kind
from hosts.wire.header import MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.sealed import OpenHead, bytes_of, end_of

SACK_BITS: Final = 512
"""Packets that one selective acknowledgment tells of, and what switches merge; with the paper's rules the most in
flight: 0.5 s at 10 Mbit/s and 1,400 bytes (ours)."""
REACH: Final = 1 << 16
"""Packets in flight at most: one acknowledgment tells of a part of them (ours; DATA's `cwnd` has no more)."""
SACK_BYTES: Final = SACK_BITS // 8
MAX_OFFSET: Final = 2**64 - 1
"""Place in the stream: what follows a packet has one too, which an agent tells its children."""
FLAG_END: Final = 0x01
FLAG_MERGED: Final = 0x01
FLAG_MERGE: Final = 0x02
FLAG_REPAIRED: Final = 0x04
FLAG_SHIFTED: Final = 0x10
FLAG_RELEARN: Final = 0x20
MERGE_CHILDREN: Final = 128
"""Children whose feedback can be merged: those with a smaller number (bits of `children` and `holders`)."""


class Data(NamedTuple):
    """One packet of the stream, multicast by the sender."""

    session: int
    end: bool
    seq: int
    send_time_us: int
    offset: int
    cwnd: int
    payload: bytes


_SEQ: Final = Number("seq", 32, "counts packets of the stream", wraps=True)
_LENGTH: Final = Size("length", 16, "bytes of the stream", of="payload")
_CWND: Final = Number(
    "cwnd",
    16,
    "packets: the window that governs the sender, so that an agent knows whether its own is the limit",
    cut=True,
)
_SEND_TIME: Final = Number("send_time_us", 64, "sender's clock, when it was first multicast")
_OFFSET: Final = Number("offset", 64, "of the payload's first byte in the stream")
_PAYLOAD: Final = Payload("data", "the stream's bytes", "payload")
_END: Final = Flag("end", FLAG_END, "the stream ends with this packet")

DATA: Final = Format(NUMBER, Type.DATA, Data, _SEQ, _LENGTH, _CWND, _SEND_TIME, _OFFSET, _PAYLOAD, flags=(_END,))
STREAM: Final = framing(DATA)


class Repair(NamedTuple):
    """The same packet again, unicast by the receiver's parent."""

    session: int
    end: bool
    seq: int
    send_time_us: int
    offset: int
    repair_time_us: int
    payload: bytes
    merge: bool = False


REPAIR: Final = Format(
    NUMBER,
    Type.REPAIR,
    Repair,
    _SEQ,
    _LENGTH,
    Number("cwnd", 16, "as in DATA; not read", attribute=""),
    _SEND_TIME,
    _OFFSET,
    Number("repair_time_us", 64, "parent's clock, when this repair was sent"),
    _PAYLOAD,
    flags=(_END, Flag("merge", FLAG_MERGE, "switches copy it to the parent's other children who asked for it")),
)


class Feedback(NamedTuple):
    """ACK, or NACK when it is sent at once because a packet was found missing.

    What follows `sack` is for switches that merge feedback (docs/assist.md); a host fills in `merge`, `number`,
    `children` and `holders`. In a merged one `cumulative`, `sack`, the windows and what follows `sack` are those of all
    `children`, the rest is `number`'s own.
    """

    session: int
    nack: bool
    cumulative: int
    echo_time_us: int
    held_us: int
    repair_echo_us: int
    min_cwnd: int
    max_twnd: int
    window: int
    sack: int
    merge: bool = False
    number: int = 0
    children: int = 0
    holders: int = 0
    merged: bool = False
    queue_us: int = 0
    bound_us: int = 0
    repeats: int = 0
    repaired: bool = False
    marked: bool = False
    shifted: bool = False
    relearn: bool = False
    needless: bool = False


FEEDBACK: Final = Format(
    NUMBER,
    (Type.ACK, Type.NACK),
    Feedback,
    CUMULATIVE,
    HELD,
    ECHO,
    REPAIR_ECHO,
    MIN_CWND,
    MAX_TWND,
    WINDOW,
    Number(
        "queue_us",
        32,
        "by how much the one that waits longest waits longer than `number` does (RTD above its least); "
        "where `shifted`, by how many packets later `sack` begins",
    ),
    Number("bound_us", 32, "from `number`'s RTD here to the largest time-out of all (mean and deviations of the RTD)"),
    Number("number", 16, "the child's number at its parent (JOIN_ACK)", wraps=True),
    Number(
        "repeats",
        16,
        "merged: NACKs that repeated others and were left out since the last one; NACK: what is missing of so many "
        "packets from `cumulative` on was asked for by others, or sent, a switch says",
    ),
    Bitmap("children", MERGE_CHILDREN, "whose feedback it is, bit = number; from a host: its own bit"),
    Bitmap("holders", MERGE_CHILDREN, "those of them that lack the packet `cumulative`; from a host: its own bit"),
    Bitmap("sack", SACK_BITS, "bit i: packet cumulative + 1 + i has arrived"),
    flags=(
        Flag("merged", FLAG_MERGED, "ACK: a switch made it from several children's"),
        Flag("merge", FLAG_MERGE, "switches may merge it with those of the same parent's other children"),
        Flag("repaired", FLAG_REPAIRED, "merged ACK: `number` answers a repair with it, for switches further up"),
        MARKED,
        Flag("shifted", FLAG_SHIFTED, "`sack` begins later, where more is in flight than it has bits; never merged"),
        Flag("relearn", FLAG_RELEARN, "the base delay is learnt again (`rules: adaptive`): switches do so, too"),
        NEEDLESS,
    ),
    second="nack",
    name="feedback",
)

_FEEDBACK_HEAD: Final = OpenHead(
    FEEDBACK.size, flags=FLAG_MERGE, is_vouched=True, merged=FLAG_MERGED, changed=(bytes_of(FEEDBACK, "repeats"),)
)
OPEN_HEADS: Final = {
    int(Type.DATA): OpenHead(end_of(DATA, "seq")),
    int(Type.REPAIR): OpenHead(end_of(REPAIR, "repair_time_us"), flags=FLAG_MERGE, is_copied=True),
    int(Type.PROBE): OpenHead(end_of(PROBE, "rtt_us")),
    int(Type.ACK): _FEEDBACK_HEAD,
    int(Type.NACK): _FEEDBACK_HEAD,
}
"""What p4src/assist/mtcp reads."""

PACKETS: Final = (DATA, REPAIR, FEEDBACK, *CONTROL, PROGRESS)
Packet: TypeAlias = Data | Repair | Feedback | Control

# Hot paths pack and unpack with the structs themselves.
_DATA: Final = DATA.struct
_REPAIR: Final = REPAIR.struct
_FEEDBACK: Final = FEEDBACK.struct
_CONTROL: Final[dict[int, Format[Control]]] = by_kind(CONTROL)

DATA_BYTES: Final = _DATA.size
REPAIR_BYTES: Final = _REPAIR.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - REPAIR_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""A repair of it, with IPv4 and UDP, makes 1,468 bytes: it fits an MTU of 1,500."""


def encode_data(
    session: int, end: bool, seq: int, send_time_us: int, offset: int, payload: bytes, cwnd: int = 0
) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32."""
    seq, cwnd = seq & 0xFFFFFFFF, min(cwnd, 0xFFFF)
    head = _DATA.pack(VERSION, NUMBER, Type.DATA, end, session, seq, len(payload), cwnd, send_time_us, offset)
    return head + payload


def encode_run(
    session: int, seq: int, send_time_us: int, offset: int, payload: bytes, size: int, cwnd: int = 0
) -> bytes:
    """DATA packets one after the other, each with `size` bytes of the payload, none of them the stream's end."""
    seq, cwnd = seq & 0xFFFFFFFF, min(cwnd, 0xFFFF)
    head = _DATA.pack(VERSION, NUMBER, Type.DATA, 0, session, seq, size, cwnd, send_time_us, offset)
    return STREAM.frame(head, payload, size)


def encode_repair(data: bytes, repair_time_us: int, *, merge: bool = False) -> bytes:
    """The REPAIR for a packet that `encode_data` made; `merge`: switches may copy it."""
    head = bytearray(data[:DATA_BYTES])
    head[2] = Type.REPAIR
    if merge:
        head[3] |= FLAG_MERGE
    return b"".join((head, repair_time_us.to_bytes(8, "big"), data[DATA_BYTES:]))


def encode_feedback(
    session: int,
    nack: bool,
    cumulative: int,
    echo_time_us: int,
    held_us: int,
    repair_echo_us: int,
    min_cwnd: int,
    max_twnd: int,
    window: int,
    sack: int,
    *,
    merge: bool = False,
    number: int = 0,
    marked: bool = False,
    shift: int = 0,
    relearn: bool = False,
    needless: bool = False,
) -> bytes:
    """A host's ACK or NACK; the fields are Feedback's, `sack` is of all that has arrived, and told of from bit `shift`
    on. Sizes beyond 32 bits are cut to the largest.
    """
    mine = 0
    if merge and number < MERGE_CHILDREN:
        mine = 1 << number
    return _FEEDBACK.pack(
        VERSION,
        NUMBER,
        Type.NACK if nack else Type.ACK,
        (FLAG_MERGE | FLAG_RELEARN * relearn) * (mine != 0)
        | FLAG_MARKED * marked
        | FLAG_SHIFTED * (shift > 0)
        | FLAG_NEEDLESS * needless,
        session,
        cumulative & 0xFFFFFFFF,
        min(held_us, UNLIMITED),
        echo_time_us,
        repair_echo_us,
        min(min_cwnd, UNLIMITED),
        min(max_twnd, UNLIMITED),
        min(window, UNLIMITED),
        shift,
        0,
        number & 0xFFFF,
        0,
        mine.to_bytes(16, "big"),
        mine.to_bytes(16, "big"),
        (sack >> shift & ((1 << SACK_BITS) - 1)).to_bytes(SACK_BYTES, "big"),
    )


def unmerged(feedback: bytes) -> bytes:
    """The same feedback, but switches may not merge it."""
    return b"".join((feedback[:3], bytes([feedback[3] & ~FLAG_MERGE]), feedback[4:]))


def _parse_feedback(data: bytes, nack: bool, flags: int, session: int) -> Feedback:
    check_size(len(data), _FEEDBACK.size)
    fields = _FEEDBACK.unpack(data)
    cumulative, held_us, echo, repair_echo, min_cwnd, max_twnd, window = fields[5:12]
    queue_us, bound_us, number, repeats, children, holders, sack = fields[12:]
    return Feedback(
        session,
        nack,
        cumulative,
        echo,
        held_us,
        repair_echo,
        min_cwnd,
        max_twnd,
        window,
        int.from_bytes(sack, "big"),
        bool(flags & FLAG_MERGE),
        number,
        int.from_bytes(children, "big"),
        int.from_bytes(holders, "big"),
        bool(flags & FLAG_MERGED),
        queue_us,
        bound_us,
        repeats,
        bool(flags & FLAG_REPAIRED),
        bool(flags & FLAG_MARKED),
        bool(flags & FLAG_SHIFTED),
        bool(flags & FLAG_RELEARN),
        bool(flags & FLAG_NEEDLESS),
    )


def _parse_progress(data: bytes, flags: int, session: int) -> Feedback:
    """As the ACK that it stands for."""
    told = decode_progress(data, flags, session)
    return Feedback(
        session,
        False,
        told.cumulative,
        told.echo_time_us,
        told.held_us,
        told.repair_echo_us,
        told.min_cwnd,
        told.max_twnd,
        told.window,
        0,
        marked=told.marked,
        needless=told.needless,
    )


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    size = len(data)
    kind, flags, session = read_header(data, NUMBER)
    if kind == Type.ACK or kind == Type.NACK:
        return _parse_feedback(data, kind == Type.NACK, flags, session)
    if kind == Type.PROGRESS:
        return _parse_progress(data, flags, session)
    if kind == Type.DATA:
        return _parse_data(data)
    if kind == Type.REPAIR:
        if size < REPAIR_BYTES:
            raise PacketError("truncated")
        _, _, _, _, _, seq, length, _, send_time_us, offset, repair_time_us = _REPAIR.unpack_from(data)
        check_size(size, REPAIR_BYTES + length)
        if offset + length > MAX_OFFSET:
            raise PacketError("value")
        payload = data[REPAIR_BYTES:]
        merge = bool(flags & FLAG_MERGE)
        return Repair(session, bool(flags & FLAG_END), seq, send_time_us, offset, repair_time_us, payload, merge)
    return decode_by_kind(_CONTROL, data, kind, flags, session)


def _parse_data(data: bytes) -> Data:
    if len(data) < DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, seq, length, cwnd, send_time_us, offset = _DATA.unpack_from(data)
    check_size(len(data), DATA_BYTES + length)
    if offset + length > MAX_OFFSET:
        raise PacketError("value")
    return Data(session, bool(flags & FLAG_END), seq, send_time_us, offset, cwnd, data[DATA_BYTES:])


parse_data: Final = DataReader(NUMBER, Type.DATA, _parse_data)
"""A DATA packet, or None for anything else, which `parse` then judges."""
