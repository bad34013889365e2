"""RLA's packets: fixed-size fields after the common header, in network order (the paper has no format).

DATA carries the stream, multicast or (a retransmission) unicast; ACK answers every packet with what has arrived, as
SACK TCP does (3.3, rule 1), or every so many-th as the sender says (ack_ratio; RFC 4341, 6.1). The rest opens and
closes a session.

An ACK that says nothing but what has arrived may be merged by a switch with those of other receivers (MERGE). One that
says who lost what may not: for one srtt (which DATA tells) after a packet has newly turned out missing, its receiver
asks for PASS alone, and answers every second packet. So does an ACK that tells of a mark (ECN). Once a second, and for
what answers no packet, it asks for both, so that the sender sees everybody's losses and round trip time as it would
without merging.

The bitmap stands where it tells of the packet that is answered. When that is further than SACK_BITS from the first
missing one (`sack_start` is not 0), switches cannot tell what it says, and it asks for neither.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from hosts.parts.runs import framing
from hosts.wire.checks import check_size, read_header
from hosts.wire.farewell import Abort, Fin, abort_encoder, abort_format, fin_format
from hosts.wire.fields import Bitmap, Flag, Number, Payload, Reserved, Size
from hosts.wire.format import Format, by_kind, decode_by_kind
from hosts.wire.header import MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason
from hosts.wire.sealed import OpenHead, end_of

NUMBER: Final = 4
"""RLA's protocol number in the common header."""

SACK_BITS: Final = 512
"""Packets that one selective acknowledgment tells of (ours, as MTCP's)."""
WINDOW_PACKETS: Final = 1 << 16
"""The most packets in flight: a bitmap can begin anywhere among so many (ours)."""
SACK_BYTES: Final = SACK_BITS // 8
CHILD_BITS: Final = 128
"""Receivers that a merged ACK can stand for; those with larger numbers are never merged (ours)."""
CHILD_BYTES: Final = CHILD_BITS // 8
MAX_U32: Final = 2**32 - 1
RATIO_BITS: Final = 7
MAX_ACK_RATIO: Final = (1 << RATIO_BITS) - 1
WAIT_UNITS: Final = 8
"""Of a round trip, in which DATA say how long an answer may wait (ours): up to sixteen fit."""
TIME_BITS: Final = 64 - RATIO_BITS
"""Of a clock in microseconds: 4,500 years."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    ACK = 2
    ANNOUNCE = 3
    JOIN = 4
    JOIN_ACK = 5
    FIN = 6
    FIN_ACK = 7
    ABORT = 8


FLAG_END: Final = 0x01
FLAG_AGAIN: Final = 0x02
FLAG_ASSIST: Final = 0x04
FLAG_WAITS: Final = 0x08
FLAG_MERGED: Final = 0x01
FLAG_MERGE: Final = 0x02
FLAG_HURRY: Final = 0x04
FLAG_PASS: Final = 0x08
FLAG_MARKED: Final = 0x10
FLAG_NEEDLESS: Final = 0x20


class Data(NamedTuple):
    """One packet of the stream."""

    session: int
    end: bool
    again: bool
    seq: int
    srtt_ms: int
    send_time_us: int
    offset: int
    payload: bytes
    assist: bool = False
    ack_ratio: int = 0
    waits: bool = False


DATA: Final = Format(
    NUMBER,
    Type.DATA,
    Data,
    Number("seq", 32, "counts packets of the stream", wraps=True),
    Size("length", 16, "bytes of the stream", of="payload"),
    Number("srtt_ms", 16, "largest smoothed round trip time of the receivers", cut=True),
    Number("ack_ratio", RATIO_BITS, "a receiver answers every so many-th packet; 0: every one; see `waits`"),
    Number("send_time_us", TIME_BITS, "sender's clock, when this copy was sent"),
    Number("offset", 64, "of the payload's first byte in the stream"),
    Payload("data", "the stream's bytes", "payload"),
    flags=(
        Flag("end", FLAG_END, "the stream ends with this packet"),
        Flag("again", FLAG_AGAIN, "a retransmission; `send_time_us` is its own"),
        Flag("assist", FLAG_ASSIST, "ACKs of this session may be merged, so switches note how far it has come"),
        Flag("waits", FLAG_WAITS, "a receiver answers within `ack_ratio` eighths of `srtt_ms`, at random"),
    ),
)


class Ack(NamedTuple):
    """What a receiver (or, merged, each of `children`) has."""

    session: int
    merged: bool
    merge: bool
    hurry: bool
    cumulative: int
    window: int
    echo_time_us: int
    number: int
    children: int
    sack: int
    passes: bool = False
    sack_start: int = 0
    marked: bool = False
    needless: bool = False


ACK: Final = Format(
    NUMBER,
    Type.ACK,
    Ack,
    Number("cumulative", 32, "the first packet that is missing: all before it have arrived", wraps=True),
    Number("window", 32, "bytes free for the stream from `cumulative` on", cut=True),
    Number("echo_time_us", 64, "send_time_us of the packet that this answers; 0: of none"),
    Number("number", 16, "the receiver's, from JOIN_ACK"),
    Number("sack_start", 16, "where the bitmap begins, packets beyond cumulative + 1; of a merged one 0"),
    Bitmap("children", CHILD_BITS, "bit i: stands for receiver number i"),
    Bitmap("sack", SACK_BITS, "bit i: packet cumulative + 1 + sack_start + i has arrived"),
    flags=(
        Flag("merged", FLAG_MERGED, "made by a switch from several receivers' ones"),
        Flag("merge", FLAG_MERGE, "a switch may merge it"),
        Flag("hurry", FLAG_HURRY, "send what is missing again at once, by unicast (3.3, footnote 8)"),
        Flag(
            "passes",
            FLAG_PASS,
            "a switch passes it on as it is; without `merge`, what was merged of this receiver before counts no longer",
        ),
        Flag("marked", FLAG_MARKED, "a queue has marked a packet that had no answer yet (ECN, RFC 3168)"),
        Flag(
            "needless",
            FLAG_NEEDLESS,
            "the retransmission that came last was of a packet that had arrived before (as DSACK, RFC 2883); never "
            "where switches may merge",
        ),
    ),
)


class Announce(NamedTuple):
    """Multicast by the sender until it starts: join me at the address this comes from."""

    session: int
    payload_bytes: int


MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - DATA.size
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""Nearly what fits Ethernet's, as a TCP's segments: where losses limit the rate, it grows with a packet's size. The
paper's packets have 1,000 (5)."""

ANNOUNCE: Final = Format(
    NUMBER,
    Type.ANNOUNCE,
    Announce,
    Number("payload_bytes", 16, "largest payload of a packet", least=1, most=MAX_PAYLOAD_BYTES),
    Reserved("reserved", 16),
)


class Join(NamedTuple):
    """A receiver wants to take part."""

    session: int
    from_start: bool
    window: int


JOIN: Final = Format(
    NUMBER,
    Type.JOIN,
    Join,
    Number("window", 32, "bytes of its receive buffer", cut=True),
    flags=(Flag("from_start", 0x01, "it wants the whole stream or nothing"),),
)


class JoinAck(NamedTuple):
    """The answer."""

    session: int
    merge: bool
    reason: Reason
    number: int
    first: int
    offset: int


JOIN_ACK: Final = Format(
    NUMBER,
    Type.JOIN_ACK,
    JoinAck,
    Number("reason", 8, "NONE when it is welcome", kind=Reason),
    Reserved("reserved", 8),
    Number("number", 16, "the receiver's"),
    Number("first", 32, "the first packet that it will get", wraps=True),
    Number("offset", 64, "of its first byte in the stream"),
    flags=(Flag("merge", FLAG_MERGE, "the receiver shall allow that its ACKs are merged"),),
)

FIN: Final = fin_format(NUMBER, Type.FIN, Type.FIN_ACK)
ABORT: Final = abort_format(NUMBER, Type.ABORT)

OPEN_HEADS: Final = {
    int(Type.DATA): OpenHead(end_of(DATA, "seq"), flags=FLAG_ASSIST),
    int(Type.ACK): OpenHead(ACK.size, flags=FLAG_MERGE | FLAG_PASS, is_vouched=True, merged=FLAG_MERGED),
}
"""What p4src/assist/rla reads."""

PACKETS: Final = (DATA, ACK, ANNOUNCE, JOIN, JOIN_ACK, FIN, ABORT)
Packet: TypeAlias = Data | Ack | Announce | Join | JoinAck | Fin | Abort

# Hot paths pack and unpack with the structs themselves, and compare plain numbers: looking an enum's member up takes as
# long as reading a field.
_DATA_STRUCT: Final = DATA.struct
_ACK_STRUCT: Final = ACK.struct
_CONTROL: Final[dict[int, Format[Packet]]] = by_kind((ANNOUNCE, JOIN, JOIN_ACK, FIN, ABORT))
_DATA: Final = int(Type.DATA)
_ACK: Final = int(Type.ACK)
_NO_CHILDREN: Final = bytes(CHILD_BYTES)
_NO_SACK: Final = bytes(SACK_BYTES)
_KEPT: Final = 64
"""DATA packets that `parse` remembers: a simulation hands one to all its receivers, within a queue's length or so."""

STREAM: Final = framing(DATA)
DATA_BYTES: Final = _DATA_STRUCT.size
ACK_BYTES: Final = _ACK_STRUCT.size


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32, `srtt_ms` is cut to 16 bits."""
    return _head(data, len(data.payload)) + data.payload


def encode_run(data: Data, size: int) -> bytes:
    """DATA packets one after the other, each with `size` bytes of the payload, which say the same otherwise."""
    return STREAM.frame(_head(data, size), data.payload, size)


def _head(data: Data, size: int) -> bytes:
    flags = FLAG_END * data.end | FLAG_AGAIN * data.again | FLAG_ASSIST * data.assist | FLAG_WAITS * data.waits
    seq, srtt_ms = data.seq & MAX_U32, min(data.srtt_ms, 0xFFFF)
    return _DATA_STRUCT.pack(
        VERSION,
        NUMBER,
        Type.DATA,
        flags,
        data.session,
        seq,
        size,
        srtt_ms,
        data.ack_ratio << TIME_BITS | data.send_time_us,
        data.offset,
    )


def encode_ack(ack: Ack) -> bytes:
    """An ACK. Sizes and times beyond 32 bits are cut to the largest."""
    flags = FLAG_MERGED * ack.merged | FLAG_MERGE * ack.merge | FLAG_HURRY * ack.hurry | FLAG_PASS * ack.passes
    flags |= FLAG_MARKED * ack.marked | FLAG_NEEDLESS * ack.needless
    return _ACK_STRUCT.pack(
        VERSION,
        NUMBER,
        _ACK,
        flags,
        ack.session,
        ack.cumulative & MAX_U32,
        min(ack.window, MAX_U32),
        ack.echo_time_us,
        ack.number,
        ack.sack_start,
        (ack.children & (1 << CHILD_BITS) - 1).to_bytes(CHILD_BYTES, "big") if ack.children else _NO_CHILDREN,
        (ack.sack & (1 << SACK_BITS) - 1).to_bytes(SACK_BYTES, "big") if ack.sack else _NO_SACK,
    )


def encode_announce(session: int, payload_bytes: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.encode(Announce(session, payload_bytes))


def encode_join(session: int, from_start: bool, window: int) -> bytes:
    """A JOIN."""
    return JOIN.encode(Join(session, from_start, window))


encode_join_ack: Final = JOIN_ACK.encode
"""A JOIN_ACK; Reason.NONE admits."""


def encode_fin(session: int, answer: bool, complete: bool, reason: Reason) -> bytes:
    """A FIN, or the FIN_ACK to one."""
    return FIN.encode(Fin(session, answer, complete, reason))


encode_abort: Final = abort_encoder(ABORT)
"""An ABORT."""


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    kind, flags, session = read_header(data, NUMBER)
    if kind == _ACK:
        return _parse_ack(data)
    if kind == _DATA:
        return _parse_data(data)
    return decode_by_kind(_CONTROL, data, kind, flags, session)


def _parse_ack(data: bytes) -> Ack:
    check_size(len(data), _ACK_STRUCT.size)
    _, _, _, flags, session, cumulative, window, echo_time_us, number, sack_start, children, sack = _ACK_STRUCT.unpack(
        data
    )
    return Ack._make(
        (
            session,
            flags & FLAG_MERGED != 0,
            flags & FLAG_MERGE != 0,
            flags & FLAG_HURRY != 0,
            cumulative,
            window,
            echo_time_us,
            number,
            0 if children == _NO_CHILDREN else int.from_bytes(children, "big"),
            0 if sack == _NO_SACK else int.from_bytes(sack, "big"),
            flags & FLAG_PASS != 0,
            sack_start,
            flags & FLAG_MARKED != 0,
            flags & FLAG_NEEDLESS != 0,
        )
    )


@lru_cache(maxsize=_KEPT)
def _parse_data(data: bytes) -> Data:
    size = len(data)
    if size < DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, seq, length, srtt_ms, send_time_us, offset = _DATA_STRUCT.unpack_from(data)
    check_size(size, DATA_BYTES + length)
    end, again, assist = bool(flags & FLAG_END), bool(flags & FLAG_AGAIN), bool(flags & FLAG_ASSIST)
    ack_ratio, send_time_us = send_time_us >> TIME_BITS, send_time_us & (1 << TIME_BITS) - 1
    waits = bool(flags & FLAG_WAITS)
    return Data(session, end, again, seq, srtt_ms, send_time_us, offset, data[DATA_BYTES:], assist, ack_ratio, waits)
