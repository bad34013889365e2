"""MTCP's packets: fixed-size fields after the common header, in network order.

DATA and REPAIR carry the stream; ACK and NACK, which differ in their type only, carry feedback and the congestion
summary (MTCP, 3.1 and 3.7). The rest builds and keeps the tree: control.py. Times are microseconds of the
clock that is named; sizes are bytes; sequence numbers count packets.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import struct
from typing import Final, NamedTuple, TypeAlias

from hosts.protocols.mtcp.control import Control, parse_control
from hosts.protocols.mtcp.wire import NUMBER, UNLIMITED, Type
from hosts.wire.checks import check_size, read_header
from hosts.wire.header import MAX_DATAGRAM_BYTES, VERSION, PacketError

SACK_BITS: Final = 512
"""Reach of the selective acknowledgment, and so the most packets in flight: 0.5 s at 10 Mbit/s and 1,400 bytes
(ours)."""
SACK_BYTES: Final = SACK_BITS // 8


MAX_OFFSET: Final = 2**64 - 1
"""Place in the stream: what follows a packet has one too, which an agent tells its children."""
FLAG_END: Final = 0x01
"""DATA, REPAIR: the stream ends with this packet."""
FLAG_MERGED: Final = 0x01
"""ACK: a switch made it from several children's; see `Feedback`."""
FLAG_MERGE: Final = 0x02
"""ACK, NACK: switches may merge it with those of the same parent's other children."""
FLAG_REPAIRED: Final = 0x04
"""ACK with FLAG_MERGED: the child that it comes from answers a repair, for switches further up."""
MERGE_CHILDREN: Final = 128
"""Children whose feedback can be merged: those with a smaller number (bits of `children` and `holders`)."""


class Data(NamedTuple):
    """One packet of the stream, multicast by the sender."""

    session: int
    end: bool
    seq: int  # 32 bits on the wire
    send_time_us: int  # sender's clock, when it was first multicast
    offset: int  # of the payload's first byte in the stream
    cwnd: int  # packets: the window that governs the sender, so that an agent knows whether its own is the limit
    payload: bytes


class Repair(NamedTuple):
    """The same packet again, unicast by the receiver's parent."""

    session: int
    end: bool
    seq: int
    send_time_us: int  # sender's clock, when it was first multicast
    offset: int
    repair_time_us: int  # parent's clock, when this repair was sent
    payload: bytes


class Feedback(NamedTuple):
    """ACK, or NACK when it is sent at once because a packet was found missing."""

    session: int
    nack: bool
    cumulative: int  # the first packet that is missing: all before it have arrived
    echo_time_us: int  # send_time_us of the last DATA that arrived, 0: none yet
    held_us: int  # from that packet's arrival to this feedback's departure
    repair_echo_us: int  # repair_time_us of the last REPAIR that arrived, 0: none yet
    min_cwnd: int  # bytes: minimum of the congestion windows below; UNLIMITED from a leaf
    max_twnd: int  # bytes: maximum of the transit windows below; 0 from a leaf
    window: int  # bytes free for the stream from `cumulative` on (the advertised window)
    sack: int  # bit i: packet cumulative + 1 + i has arrived
    # What follows is for switches that merge feedback (docs/assist.md); a host fills in the first four. In a merged
    # one `cumulative`, `sack`, the windows and what follows are those of all `children`, the rest is `number`'s own.
    merge: bool = False  # may be merged
    number: int = 0  # the child's number at its parent (JOIN_ACK)
    children: int = 0  # whose feedback it is, bit = number; from a host: its own bit
    holders: int = 0  # those of them that lack the packet `cumulative`; from a host: its own bit
    merged: bool = False  # a switch made it
    queue_us: int = 0  # by how much the one that waits longest waits longer than `number` does (RTD above its least)
    bound_us: int = 0  # from `number`'s RTD here to the largest time-out of all (mean and deviations of the RTD)
    repeats: int = 0  # NACKs that repeated others and were left out since the last one
    repaired: bool = False  # in a merged one: `number` answers a repair with it


Packet: TypeAlias = Data | Repair | Feedback | Control

# Field layouts after the common header; hosts/dissect/layers.py says the same in Scapy's terms.
DATA: Final = struct.Struct("!BBBBIIHHQQ")  # ... seq, length, cwnd, send_time_us, offset
REPAIR: Final = struct.Struct("!BBBBIIHHQQQ")  # ... and repair_time_us
FEEDBACK: Final = struct.Struct(f"!BBBBIIIQQIIIIIHH16s16s{SACK_BYTES}s")

DATA_BYTES: Final = DATA.size
REPAIR_BYTES: Final = REPAIR.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - REPAIR_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""A repair of it, with IPv4 and UDP, makes 1,468 bytes: it fits an MTU of 1,500."""


def encode_data(
    session: int, end: bool, seq: int, send_time_us: int, offset: int, payload: bytes, cwnd: int = 0
) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32."""
    seq, cwnd = seq & 0xFFFFFFFF, min(cwnd, 0xFFFF)
    head = DATA.pack(VERSION, NUMBER, Type.DATA, end, session, seq, len(payload), cwnd, send_time_us, offset)
    return head + payload


def encode_repair(data: bytes, repair_time_us: int) -> bytes:
    """The REPAIR for a packet that `encode_data` made."""
    head = bytearray(data[:DATA_BYTES])
    head[2] = Type.REPAIR
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
) -> bytes:
    """A host's ACK or NACK; the fields are Feedback's. Sizes beyond 32 bits are cut to the largest."""
    mine = 0
    if merge and number < MERGE_CHILDREN:
        mine = 1 << number
    return FEEDBACK.pack(
        VERSION,
        NUMBER,
        Type.NACK if nack else Type.ACK,
        FLAG_MERGE if mine else 0,
        session,
        cumulative & 0xFFFFFFFF,
        min(held_us, UNLIMITED),
        echo_time_us,
        repair_echo_us,
        min(min_cwnd, UNLIMITED),
        min(max_twnd, UNLIMITED),
        min(window, UNLIMITED),
        0,
        0,
        number & 0xFFFF,
        0,
        mine.to_bytes(16, "big"),
        mine.to_bytes(16, "big"),
        (sack & ((1 << SACK_BITS) - 1)).to_bytes(SACK_BYTES, "big"),
    )


def encode_merged(feedback: Feedback) -> bytes:
    """Feedback as it is, all its fields within their widths: what a switch makes, for tests and models."""
    flags = (FLAG_MERGED if feedback.merged else 0) | (FLAG_MERGE if feedback.merge else 0)
    flags |= FLAG_REPAIRED if feedback.repaired else 0
    kind = Type.NACK if feedback.nack else Type.ACK
    return FEEDBACK.pack(
        VERSION,
        NUMBER,
        kind,
        flags,
        feedback.session,
        feedback.cumulative,
        feedback.held_us,
        feedback.echo_time_us,
        feedback.repair_echo_us,
        feedback.min_cwnd,
        feedback.max_twnd,
        feedback.window,
        feedback.queue_us,
        feedback.bound_us,
        feedback.number,
        feedback.repeats,
        feedback.children.to_bytes(16, "big"),
        feedback.holders.to_bytes(16, "big"),
        feedback.sack.to_bytes(SACK_BYTES, "big"),
    )


def _parse_feedback(data: bytes, nack: bool, flags: int, session: int) -> Feedback:
    check_size(len(data), FEEDBACK.size)
    fields = FEEDBACK.unpack(data)
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
    )


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    size = len(data)
    kind, flags, session = read_header(data, NUMBER)
    if kind == Type.ACK or kind == Type.NACK:
        return _parse_feedback(data, kind == Type.NACK, flags, session)
    if kind == Type.DATA:
        if size < DATA_BYTES:
            raise PacketError("truncated")
        _, _, _, _, _, seq, length, cwnd, send_time_us, offset = DATA.unpack_from(data)
        check_size(size, DATA_BYTES + length)
        if offset + length > MAX_OFFSET:
            raise PacketError("value")
        return Data(session, bool(flags & FLAG_END), seq, send_time_us, offset, cwnd, data[DATA_BYTES:])
    if kind == Type.REPAIR:
        if size < REPAIR_BYTES:
            raise PacketError("truncated")
        _, _, _, _, _, seq, length, _, send_time_us, offset, repair_time_us = REPAIR.unpack_from(data)
        check_size(size, REPAIR_BYTES + length)
        if offset + length > MAX_OFFSET:
            raise PacketError("value")
        payload = data[REPAIR_BYTES:]
        return Repair(session, bool(flags & FLAG_END), seq, send_time_us, offset, repair_time_us, payload)
    return parse_control(data, kind, flags, session)
