"""MTCP's packets: fixed-size fields after the common header, in network order.

DATA and REPAIR carry the stream; ACK and NACK, which differ in their type only, carry feedback and the congestion
summary (MTCP, 3.1 and 3.7); PROBE and PROBE_ACK measure the round trip time between an agent and its child (3.3). The
rest opens and closes a session (ours: the paper gives no format). Times are microseconds of the clock that is named;
sizes are bytes; sequence numbers count packets.

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
import struct
from typing import Final, NamedTuple, TypeAlias

from hosts.header import HEADER, HEADER_BYTES, MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.reason import Reason

NUMBER: Final = 1
"""MTCP's protocol number in the common header."""

SACK_BITS: Final = 512
"""Reach of the selective acknowledgment, and so the most packets in flight: 0.5 s at 10 Mbit/s and 1,400 bytes
(ours)."""
SACK_BYTES: Final = SACK_BITS // 8
UNLIMITED: Final = 2**32 - 1
"""A leaf's min_cwnd: all ones, the neutral element of the minimum."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    REPAIR = 2
    ACK = 3
    NACK = 4
    PROBE = 5
    PROBE_ACK = 6
    ANNOUNCE = 7
    JOIN = 8
    JOIN_ACK = 9
    FIN = 10
    FIN_ACK = 11
    ABORT = 12


FLAG_END: Final = 0x01
"""DATA, REPAIR: the stream ends with this packet."""


class Data(NamedTuple):
    """One packet of the stream, multicast by the sender."""

    session: int
    end: bool
    seq: int  # 32 bits on the wire
    send_time_us: int  # sender's clock, when it was first multicast
    offset: int  # of the payload's first byte in the stream
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


class Probe(NamedTuple):
    """A question for the round trip time, or its answer."""

    session: int
    answer: bool
    time_us: int  # clock of who asks


class Announce(NamedTuple):
    """Multicast by the sender until it starts: join me at the address this comes from."""

    session: int
    payload_bytes: int  # largest payload of a packet


class Join(NamedTuple):
    """A receiver wants to be a child."""

    session: int
    window: int  # bytes of its receive buffer


class JoinAck(NamedTuple):
    """The answer; `reason` is NONE when it is welcome."""

    session: int
    reason: Reason


class Fin(NamedTuple):
    """A receiver's last word (`answer` False), or its parent's receipt for that."""

    session: int
    answer: bool
    complete: bool
    reason: Reason


class Abort(NamedTuple):
    """The sender ends the session or drops this receiver, or a receiver leaves."""

    session: int
    reason: Reason


Packet: TypeAlias = Data | Repair | Feedback | Probe | Announce | Join | JoinAck | Fin | Abort

# Field layouts after the common header; hosts/dissect.py says the same in Scapy's terms.
DATA: Final = struct.Struct("!BBBBIIHHQQ")  # ... seq, length, reserved, send_time_us, offset
REPAIR: Final = struct.Struct("!BBBBIIHHQQQ")  # ... and repair_time_us
FEEDBACK: Final = struct.Struct(f"!BBBBIIIQQIII{SACK_BYTES}s")
PROBE: Final = struct.Struct("!BBBBIQ")
ANNOUNCE: Final = struct.Struct("!BBBBIHH")
JOIN: Final = struct.Struct("!BBBBII")
JOIN_ACK: Final = struct.Struct("!BBBBIBBH")
FIN: Final = struct.Struct("!BBBBIBBH")
ABORT: Final = struct.Struct("!BBBBIBBH")

DATA_BYTES: Final = DATA.size
REPAIR_BYTES: Final = REPAIR.size
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - REPAIR_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""A repair of it, with IPv4 and UDP, makes 1,468 bytes: it fits an MTU of 1,500."""


def encode_data(session: int, end: bool, seq: int, send_time_us: int, offset: int, payload: bytes) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32."""
    return (
        DATA.pack(VERSION, NUMBER, Type.DATA, end, session, seq & 0xFFFFFFFF, len(payload), 0, send_time_us, offset)
        + payload
    )


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
) -> bytes:
    """An ACK or NACK; the fields are Feedback's. Sizes beyond 32 bits are cut to the largest."""
    return FEEDBACK.pack(
        VERSION,
        NUMBER,
        Type.NACK if nack else Type.ACK,
        0,
        session,
        cumulative & 0xFFFFFFFF,
        min(held_us, UNLIMITED),
        echo_time_us,
        repair_echo_us,
        min(min_cwnd, UNLIMITED),
        min(max_twnd, UNLIMITED),
        min(window, UNLIMITED),
        (sack & ((1 << SACK_BITS) - 1)).to_bytes(SACK_BYTES, "big"),
    )


def encode_probe(session: int, answer: bool, time_us: int) -> bytes:
    """A PROBE, or the PROBE_ACK to one."""
    return PROBE.pack(VERSION, NUMBER, Type.PROBE_ACK if answer else Type.PROBE, 0, session, time_us)


def encode_announce(session: int, payload_bytes: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.pack(VERSION, NUMBER, Type.ANNOUNCE, 0, session, payload_bytes, 0)


def encode_join(session: int, window: int) -> bytes:
    """A JOIN."""
    return JOIN.pack(VERSION, NUMBER, Type.JOIN, 0, session, min(window, UNLIMITED))


def encode_join_ack(session: int, reason: Reason) -> bytes:
    """A JOIN_ACK; Reason.NONE admits."""
    return JOIN_ACK.pack(VERSION, NUMBER, Type.JOIN_ACK, 0, session, reason, 0, 0)


def encode_fin(session: int, answer: bool, complete: bool, reason: Reason) -> bytes:
    """A FIN, or the FIN_ACK to one."""
    return FIN.pack(VERSION, NUMBER, Type.FIN_ACK if answer else Type.FIN, 0, session, complete, reason, 0)


def encode_abort(session: int, reason: Reason) -> bytes:
    """An ABORT."""
    return ABORT.pack(VERSION, NUMBER, Type.ABORT, 0, session, reason, 0, 0)


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    size = len(data)
    if size < HEADER_BYTES:
        raise PacketError("truncated")
    version, protocol, kind, flags, session = HEADER.unpack_from(data)
    if version != VERSION:
        raise PacketError("version")
    if protocol != NUMBER:
        raise PacketError("protocol")
    if kind == Type.DATA:
        if size < DATA_BYTES:
            raise PacketError("truncated")
        _, _, _, _, _, seq, length, _, send_time_us, offset = DATA.unpack_from(data)
        _check_size(size, DATA_BYTES + length)
        return Data(session, bool(flags & FLAG_END), seq, send_time_us, offset, data[DATA_BYTES:])
    if kind in (Type.ACK, Type.NACK):
        _check_size(size, FEEDBACK.size)
        _, _, _, _, _, cumulative, held_us, echo, repair_echo, min_cwnd, max_twnd, window, sack = FEEDBACK.unpack(data)
        return Feedback(
            session,
            kind == Type.NACK,
            cumulative,
            echo,
            held_us,
            repair_echo,
            min_cwnd,
            max_twnd,
            window,
            int.from_bytes(sack, "big"),
        )
    if kind == Type.REPAIR:
        if size < REPAIR_BYTES:
            raise PacketError("truncated")
        _, _, _, _, _, seq, length, _, send_time_us, offset, repair_time_us = REPAIR.unpack_from(data)
        _check_size(size, REPAIR_BYTES + length)
        payload = data[REPAIR_BYTES:]
        return Repair(session, bool(flags & FLAG_END), seq, send_time_us, offset, repair_time_us, payload)
    return _parse_control(data, kind, session)


def _parse_control(data: bytes, kind: int, session: int) -> Packet:
    size = len(data)
    if kind in (Type.PROBE, Type.PROBE_ACK):
        _check_size(size, PROBE.size)
        return Probe(session, kind == Type.PROBE_ACK, PROBE.unpack(data)[5])
    if kind == Type.ANNOUNCE:
        _check_size(size, ANNOUNCE.size)
        payload_bytes = ANNOUNCE.unpack(data)[5]
        if not 0 < payload_bytes <= MAX_PAYLOAD_BYTES:
            raise PacketError("value")
        return Announce(session, payload_bytes)
    if kind == Type.JOIN:
        _check_size(size, JOIN.size)
        return Join(session, JOIN.unpack(data)[5])
    if kind == Type.JOIN_ACK:
        _check_size(size, JOIN_ACK.size)
        return JoinAck(session, _reason(JOIN_ACK.unpack(data)[5]))
    if kind in (Type.FIN, Type.FIN_ACK):
        _check_size(size, FIN.size)
        _, _, _, _, _, complete, reason, _ = FIN.unpack(data)
        if complete > 1:
            raise PacketError("value")
        return Fin(session, kind == Type.FIN_ACK, bool(complete), _reason(reason))
    if kind == Type.ABORT:
        _check_size(size, ABORT.size)
        return Abort(session, _reason(ABORT.unpack(data)[5]))
    raise PacketError("type")


def _check_size(size: int, right: int) -> None:
    if size < right:
        raise PacketError("truncated")
    if size > right:
        raise PacketError("oversized")


def _reason(value: int) -> Reason:
    try:
        return Reason(value)
    except ValueError:
        raise PacketError("value") from None
