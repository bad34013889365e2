"""RLA's packets: fixed-size fields after the common header, in network order (the paper has no format).

DATA carries the stream, multicast or (a retransmission) unicast; ACK answers every packet with what has arrived, as
SACK TCP does (3.3, rule 1). The rest opens and closes a session.

An ACK that says nothing but what has arrived may be merged by a switch with those of other receivers (MERGE). One that
says who lost what may not: for one srtt (which DATA tells) after a packet has newly turned out missing, its receiver
asks for PASS alone, and answers every second packet. Once a second, and for what answers no packet, it asks for both,
so that the sender sees everybody's losses and round trip time as it would without merging.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
import struct
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from hosts.wire.checks import check_size, read_header, to_reason
from hosts.wire.farewell import Abort, Fin, pack_abort, pack_fin, read_abort, read_fin
from hosts.wire.header import MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason

NUMBER: Final = 4
"""RLA's protocol number in the common header."""

SACK_BITS: Final = 512
"""Reach of the selective acknowledgment, and so the most packets in flight (ours, as MTCP's)."""
SACK_BYTES: Final = SACK_BITS // 8
CHILD_BITS: Final = 128
"""Receivers that a merged ACK can stand for; those with larger numbers are never merged (ours)."""
CHILD_BYTES: Final = CHILD_BITS // 8
MAX_U32: Final = 2**32 - 1


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
"""DATA: the stream ends with this packet."""
FLAG_AGAIN: Final = 0x02
"""DATA: a retransmission; `send_time_us` is its own."""
FLAG_ASSIST: Final = 0x04
"""DATA: acknowledgments of this session may be merged, so switches note how far it has come."""
FLAG_MERGED: Final = 0x01
"""ACK: made by a switch from several receivers' ones."""
FLAG_MERGE: Final = 0x02
"""ACK: a switch may merge it; JOIN_ACK: the receiver shall allow that."""
FLAG_HURRY: Final = 0x04
"""ACK: send what is missing again at once, by unicast (3.3, footnote 8)."""
FLAG_PASS: Final = 0x08
"""ACK: a switch passes it on as it is; without MERGE, what was merged of this receiver before counts no longer."""


class Data(NamedTuple):
    """One packet of the stream."""

    session: int
    end: bool
    again: bool
    seq: int  # 32 bits on the wire
    srtt_ms: int  # largest smoothed round trip time of the receivers, 16 bits
    send_time_us: int  # sender's clock, when this copy was sent
    offset: int  # of the payload's first byte in the stream
    payload: bytes
    assist: bool = False


class Ack(NamedTuple):
    """What a receiver (or, merged, each of `children`) has."""

    session: int
    merged: bool
    merge: bool
    hurry: bool
    cumulative: int  # the first packet that is missing: all before it have arrived
    window: int  # bytes free for the stream from `cumulative` on
    echo_time_us: int  # send_time_us of the packet that this answers; 0: of none
    number: int  # the receiver's, from JOIN_ACK
    children: int  # bit i: stands for receiver number i
    sack: int  # bit i: packet cumulative + 1 + i has arrived
    passes: bool = False  # to the sender, whatever a switch takes from it


class Announce(NamedTuple):
    """Multicast by the sender until it starts: join me at the address this comes from."""

    session: int
    payload_bytes: int  # largest payload of a packet


class Join(NamedTuple):
    """A receiver wants to take part."""

    session: int
    from_start: bool  # it wants the whole stream or nothing
    window: int  # bytes of its receive buffer


class JoinAck(NamedTuple):
    """The answer; `reason` is NONE when it is welcome."""

    session: int
    merge: bool
    reason: Reason
    number: int  # the receiver's
    first: int  # the first packet that it will get
    offset: int  # of its first byte in the stream


Packet: TypeAlias = Data | Ack | Announce | Join | JoinAck | Fin | Abort

# Field layouts after the common header; hosts/dissect/layers.py says the same in Scapy's terms.
DATA: Final = struct.Struct("!BBBBIIHHQQ")  # ... seq, length, srtt_ms, send_time_us, offset
ACK: Final = struct.Struct(
    f"!BBBBIIIQHH{CHILD_BYTES}s{SACK_BYTES}s"
)  # ... cumulative, window, echo_time_us, number, reserved
ANNOUNCE: Final = struct.Struct("!BBBBIHH")
JOIN: Final = struct.Struct("!BBBBII")
JOIN_ACK: Final = struct.Struct("!BBBBIBBHIQ")  # reason, reserved, number, first, offset

JOIN_FROM_START: Final = 0x01

# Plain numbers: looking an enum's member up takes as long as reading a field.
_DATA: Final = int(Type.DATA)
_ACK: Final = int(Type.ACK)
_NO_CHILDREN: Final = bytes(CHILD_BYTES)
_NO_SACK: Final = bytes(SACK_BYTES)
_KEPT: Final = 64
"""DATA packets that `parse` remembers: a simulation hands one to all its receivers, within a queue's length or so."""

DATA_BYTES: Final = DATA.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - DATA_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1000
"""The paper's packet size (5)."""


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32, `srtt_ms` is cut to 16 bits."""
    flags = FLAG_END * data.end | FLAG_AGAIN * data.again | FLAG_ASSIST * data.assist
    seq, srtt_ms = data.seq & MAX_U32, min(data.srtt_ms, 0xFFFF)
    head = DATA.pack(
        VERSION,
        NUMBER,
        Type.DATA,
        flags,
        data.session,
        seq,
        len(data.payload),
        srtt_ms,
        data.send_time_us,
        data.offset,
    )
    return head + data.payload


def encode_ack(ack: Ack) -> bytes:
    """An ACK. Sizes and times beyond 32 bits are cut to the largest."""
    flags = FLAG_MERGED * ack.merged | FLAG_MERGE * ack.merge | FLAG_HURRY * ack.hurry | FLAG_PASS * ack.passes
    return ACK.pack(
        VERSION,
        NUMBER,
        _ACK,
        flags,
        ack.session,
        ack.cumulative & MAX_U32,
        min(ack.window, MAX_U32),
        ack.echo_time_us,
        ack.number,
        0,
        (ack.children & (1 << CHILD_BITS) - 1).to_bytes(CHILD_BYTES, "big") if ack.children else _NO_CHILDREN,
        (ack.sack & (1 << SACK_BITS) - 1).to_bytes(SACK_BYTES, "big") if ack.sack else _NO_SACK,
    )


def encode_announce(session: int, payload_bytes: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.pack(VERSION, NUMBER, Type.ANNOUNCE, 0, session, payload_bytes, 0)


def encode_join(session: int, from_start: bool, window: int) -> bytes:
    """A JOIN."""
    return JOIN.pack(VERSION, NUMBER, Type.JOIN, JOIN_FROM_START * from_start, session, min(window, MAX_U32))


def encode_join_ack(ack: JoinAck) -> bytes:
    """A JOIN_ACK; Reason.NONE admits."""
    flags, first = FLAG_MERGE * ack.merge, ack.first & MAX_U32
    return JOIN_ACK.pack(
        VERSION, NUMBER, Type.JOIN_ACK, flags, ack.session, ack.reason, 0, ack.number, first, ack.offset
    )


def encode_fin(session: int, answer: bool, complete: bool, reason: Reason) -> bytes:
    """A FIN, or the FIN_ACK to one."""
    return pack_fin(NUMBER, Type.FIN_ACK if answer else Type.FIN, session, complete, reason)


def encode_abort(session: int, reason: Reason) -> bytes:
    """An ABORT."""
    return pack_abort(NUMBER, Type.ABORT, session, reason)


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    kind, flags, session = read_header(data, NUMBER)
    if kind == _ACK:
        return _parse_ack(data)
    if kind == _DATA:
        return _parse_data(data)
    return _parse_control(data, kind, flags, session)


def _parse_ack(data: bytes) -> Ack:
    check_size(len(data), ACK.size)
    _, _, _, flags, session, cumulative, window, echo_time_us, number, _, children, sack = ACK.unpack(data)
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
        )
    )


@lru_cache(maxsize=_KEPT)
def _parse_data(data: bytes) -> Data:
    size = len(data)
    if size < DATA_BYTES:
        raise PacketError("truncated")
    _, _, _, flags, session, seq, length, srtt_ms, send_time_us, offset = DATA.unpack_from(data)
    check_size(size, DATA_BYTES + length)
    end, again, assist = bool(flags & FLAG_END), bool(flags & FLAG_AGAIN), bool(flags & FLAG_ASSIST)
    return Data(session, end, again, seq, srtt_ms, send_time_us, offset, data[DATA_BYTES:], assist)


def _parse_control(data: bytes, kind: int, flags: int, session: int) -> Packet:
    size = len(data)
    if kind == Type.ANNOUNCE:
        check_size(size, ANNOUNCE.size)
        payload_bytes = ANNOUNCE.unpack(data)[5]
        if not 0 < payload_bytes <= MAX_PAYLOAD_BYTES:
            raise PacketError("value")
        return Announce(session, payload_bytes)
    if kind == Type.JOIN:
        check_size(size, JOIN.size)
        return Join(session, bool(flags & JOIN_FROM_START), JOIN.unpack(data)[5])
    if kind == Type.JOIN_ACK:
        check_size(size, JOIN_ACK.size)
        _, _, _, _, _, reason, _, number, first, offset = JOIN_ACK.unpack(data)
        return JoinAck(session, bool(flags & FLAG_MERGE), to_reason(reason), number, first, offset)
    if kind in (Type.FIN, Type.FIN_ACK):
        return read_fin(data, kind == Type.FIN_ACK)
    if kind == Type.ABORT:
        return read_abort(data)
    raise PacketError("type")
