"""The packets that build and keep the logical tree: joining a parent, probing it or a child, ending, moving elsewhere,
and telling the sender who is there (ours: the paper has no format and leaves the tree to others).

Fixed-size fields after the common header, in network order; lists of addresses or members follow at the end.
"""

import enum
import struct
from typing import Final, NamedTuple, TypeAlias

from hosts.endpoint import Address
from hosts.protocols.mtcp.wire import (
    ADDRESS,
    MAX_ADDRESSES,
    NUMBER,
    UNLIMITED,
    Type,
    pack_address,
    pack_addresses,
    unpack_address,
    unpack_addresses,
)
from hosts.wire.checks import check_size, to_reason
from hosts.wire.farewell import Abort, Fin, pack_abort, pack_fin, read_abort, read_fin
from hosts.wire.header import MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason


class Probe(NamedTuple):
    """A question for the round trip time (3.3); a parent also says what a child should know."""

    session: int
    time_us: int  # clock of who asks
    rtt_us: int = 0  # round trip time to this child as its parent has measured it; 0: unknown, or a child asks
    silence_ms: int = 0  # how long ago the sender was heard of
    lineage: tuple[Address, ...] = ()  # the parent's parent, and so on up to the sender


class ProbeAck(NamedTuple):
    """The answer to a probe."""

    session: int
    time_us: int  # the probe's
    clock_us: int  # the sender's clock as who answers sees it; 0: it cannot tell


class Announce(NamedTuple):
    """Multicast by the sender until it starts, and when it is quiet: I am at the address that this comes from."""

    session: int
    payload_bytes: int  # largest payload of a packet


class Join(NamedTuple):
    """A receiver wants to be a child."""

    session: int
    agent: bool  # it serves other receivers
    spare: bool  # it would, if it is needed
    member: bool  # it takes part already, and has lost its parent: `cumulative` is the first packet that it lacks
    from_start: bool  # it wants the whole stream or nothing
    epoch: int  # how often it has asked somebody; the last answer counts, and what it says of itself
    window: int  # bytes of its buffer
    cumulative: int


class JoinAck(NamedTuple):
    """The answer; `reason` is NONE when it is welcome."""

    session: int
    merge: bool  # switches may merge this child's feedback with others'
    reason: Reason
    epoch: int  # the join's
    number: int = 0  # the child's, among its parent's children
    first: int = 0  # the first packet that the parent answers for
    offset: int = 0  # of its first byte in the stream
    child: Address = Address("0.0.0.0", 0)  # who asked, as seen from the parent
    lineage: tuple[Address, ...] = ()  # as in Probe


class Query(NamedTuple):
    """Would you be my parent, and who else might?"""

    session: int
    time_us: int  # clock of who asks


class Offer(NamedTuple):
    """The answer to a query."""

    session: int
    room: bool  # it takes another child
    agent: bool  # it serves others already, or was asked to; otherwise it would if need be
    time_us: int  # the query's
    load: int  # its children
    level: int  # 0: the sender
    others: tuple[Address, ...]  # who else may be asked; those that serve others come first


class Move(NamedTuple):
    """A parent leaves: its children should join `parent`."""

    session: int
    parent: Address


class State(enum.IntEnum):
    """Where a member stands. What is later in the order, and not only a later message, is later."""

    ACTIVE = 0
    COMPLETE = 1
    LEFT = 2
    LOST = 3
    GONE = 4  # complete, and then silent: those below it must look for another parent


class Entry(NamedTuple):
    """What is known of a member of the session."""

    address: Address
    parent: Address
    epoch: int  # the join's that made it a child of this parent
    state: State
    reason: Reason
    agent: bool
    spare: bool


class Report(NamedTuple):
    """An agent tells its parent what has changed below; repeated until it is acknowledged."""

    session: int
    number: int
    entries: tuple[Entry, ...]


class ReportAck(NamedTuple):
    """The parent knows."""

    session: int
    number: int


Control: TypeAlias = (
    Probe | ProbeAck | Announce | Join | JoinAck | Fin | Abort | Query | Offer | Move | Report | ReportAck
)

# Field layouts after the common header; hosts/dissect/layers.py says the same in Scapy's terms.
PROBE: Final = struct.Struct("!BBBBIQIIHH")  # ... time_us, rtt_us, silence_ms, addresses, reserved
PROBE_ACK: Final = struct.Struct("!BBBBIQQ")
ANNOUNCE: Final = struct.Struct("!BBBBIHH")
JOIN: Final = struct.Struct("!BBBBIIIHH")  # ... window, cumulative, epoch, reserved
JOIN_ACK: Final = struct.Struct("!BBBBIBBHHHIQ6s")  # reason, addresses, number, epoch, -, first, offset, child
QUERY: Final = struct.Struct("!BBBBIQ")
OFFER: Final = struct.Struct("!BBBBIQHBB")  # ... time_us, load, level, addresses
MOVE: Final = struct.Struct("!BBBBI6sH")
REPORT: Final = struct.Struct("!BBBBIIHH")  # ... number, entries, reserved
ENTRY: Final = struct.Struct("!6s6sHBB")  # address, parent, epoch, state and flags, reason
REPORT_ACK: Final = struct.Struct("!BBBBII")

JOIN_AGENT: Final = 0x01
JOIN_SPARE: Final = 0x02
JOIN_MEMBER: Final = 0x04
JOIN_FROM_START: Final = 0x08
JOIN_ACK_MERGE: Final = 0x01
OFFER_ROOM: Final = 0x01
OFFER_AGENT: Final = 0x02
ENTRY_STATE: Final = 0x0F
ENTRY_AGENT: Final = 0x10
ENTRY_SPARE: Final = 0x20

MAX_ENTRIES: Final = (MAX_DATAGRAM_BYTES - REPORT.size) // ENTRY.size
"""Members in one report."""


def encode_probe(
    session: int, time_us: int, rtt_us: int = 0, silence_ms: int = 0, lineage: tuple[Address, ...] = ()
) -> bytes:
    """A PROBE."""
    rtt_us, silence_ms = min(rtt_us, UNLIMITED), min(silence_ms, UNLIMITED)
    head = PROBE.pack(VERSION, NUMBER, Type.PROBE, 0, session, time_us, rtt_us, silence_ms, len(lineage), 0)
    return head + pack_addresses(lineage)


def encode_probe_ack(session: int, time_us: int, clock_us: int) -> bytes:
    """A PROBE_ACK."""
    return PROBE_ACK.pack(VERSION, NUMBER, Type.PROBE_ACK, 0, session, time_us, clock_us)


def encode_announce(session: int, payload_bytes: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.pack(VERSION, NUMBER, Type.ANNOUNCE, 0, session, payload_bytes, 0)


def encode_join(join: Join) -> bytes:
    """A JOIN. `cumulative` and `epoch` are taken modulo their width."""
    flags = JOIN_AGENT * join.agent | JOIN_SPARE * join.spare
    flags |= JOIN_MEMBER * join.member | JOIN_FROM_START * join.from_start
    window, cumulative = min(join.window, UNLIMITED), join.cumulative & UNLIMITED
    return JOIN.pack(VERSION, NUMBER, Type.JOIN, flags, join.session, window, cumulative, join.epoch & 0xFFFF, 0)


def encode_join_ack(ack: JoinAck) -> bytes:
    """A JOIN_ACK. `first` is taken modulo 2^32, `number` (of interest only if it is small) modulo 2^16."""
    head = JOIN_ACK.pack(
        VERSION,
        NUMBER,
        Type.JOIN_ACK,
        JOIN_ACK_MERGE * ack.merge,
        ack.session,
        ack.reason,
        len(ack.lineage),
        ack.number & 0xFFFF,
        ack.epoch,
        0,
        ack.first & UNLIMITED,
        ack.offset,
        pack_address(ack.child),
    )
    return head + pack_addresses(ack.lineage)


def encode_fin(session: int, answer: bool, complete: bool, reason: Reason) -> bytes:
    """A FIN, or the FIN_ACK to one."""
    return pack_fin(NUMBER, Type.FIN_ACK if answer else Type.FIN, session, complete, reason)


def encode_abort(session: int, reason: Reason) -> bytes:
    """An ABORT."""
    return pack_abort(NUMBER, Type.ABORT, session, reason)


def encode_query(session: int, time_us: int) -> bytes:
    """A QUERY."""
    return QUERY.pack(VERSION, NUMBER, Type.QUERY, 0, session, time_us)


def encode_offer(offer: Offer) -> bytes:
    """An OFFER; at most MAX_ADDRESSES others are named."""
    others = offer.others[:MAX_ADDRESSES]
    flags = OFFER_ROOM * offer.room | OFFER_AGENT * offer.agent
    load, level = min(offer.load, 0xFFFF), min(offer.level, 0xFF)
    head = OFFER.pack(VERSION, NUMBER, Type.OFFER, flags, offer.session, offer.time_us, load, level, len(others))
    return head + pack_addresses(others)


def encode_move(session: int, parent: Address) -> bytes:
    """A MOVE."""
    return MOVE.pack(VERSION, NUMBER, Type.MOVE, 0, session, pack_address(parent), 0)


def encode_report(session: int, number: int, entries: list[Entry]) -> bytes:
    """A REPORT of at most MAX_ENTRIES members."""
    head = REPORT.pack(VERSION, NUMBER, Type.REPORT, 0, session, number & UNLIMITED, len(entries), 0)
    return head + b"".join(map(_pack_entry, entries))


def encode_report_ack(session: int, number: int) -> bytes:
    """A REPORT_ACK."""
    return REPORT_ACK.pack(VERSION, NUMBER, Type.REPORT_ACK, 0, session, number)


def _pack_entry(entry: Entry) -> bytes:
    state = entry.state | ENTRY_AGENT * entry.agent | ENTRY_SPARE * entry.spare
    return ENTRY.pack(pack_address(entry.address), pack_address(entry.parent), entry.epoch, state, entry.reason)


def _unpack_entry(data: bytes, at: int) -> Entry:
    _, _, epoch, state, reason = ENTRY.unpack_from(data, at)
    if state & ENTRY_STATE > State.GONE or state & ~(ENTRY_STATE | ENTRY_AGENT | ENTRY_SPARE):
        raise PacketError("value")
    address, parent = unpack_address(data, at), unpack_address(data, at + ADDRESS.size)
    agent, spare = bool(state & ENTRY_AGENT), bool(state & ENTRY_SPARE)
    return Entry(address, parent, epoch, State(state & ENTRY_STATE), to_reason(reason), agent, spare)


def parse_control(data: bytes, kind: int, flags: int, session: int) -> Control:
    """Read a packet whose common header has been read. Raises PacketError."""
    if kind in (Type.FIN, Type.FIN_ACK):
        return read_fin(data, kind == Type.FIN_ACK)
    if kind == Type.ABORT:
        return read_abort(data)
    layout = _LAYOUTS.get(kind)
    if layout is None:
        raise PacketError("type")
    size = len(data)
    if size < layout.size:
        raise PacketError("truncated")
    fields = layout.unpack_from(data)[5:]
    if kind == Type.PROBE:
        time_us, rtt_us, silence_ms, count, _ = fields
        return Probe(session, time_us, rtt_us, silence_ms, unpack_addresses(data, PROBE.size, count))
    if kind == Type.JOIN_ACK:
        reason, count, number, epoch, _, first, offset, _ = fields
        lineage = unpack_addresses(data, JOIN_ACK.size, count)
        child = unpack_address(data, JOIN_ACK.size - ADDRESS.size)
        merge = bool(flags & JOIN_ACK_MERGE)
        return JoinAck(session, merge, to_reason(reason), epoch, number, first, offset, child, lineage)
    if kind == Type.OFFER:
        time_us, load, level, count = fields
        others = unpack_addresses(data, OFFER.size, count)
        return Offer(session, bool(flags & OFFER_ROOM), bool(flags & OFFER_AGENT), time_us, load, level, others)
    if kind == Type.REPORT:
        number, count, _ = fields
        check_size(size, REPORT.size + count * ENTRY.size)
        places = range(REPORT.size, size, ENTRY.size)
        return Report(session, number, tuple(_unpack_entry(data, at) for at in places))
    check_size(size, layout.size)
    return _parse_fixed(data, kind, flags, session, fields)


def _parse_fixed(data: bytes, kind: int, flags: int, session: int, fields: tuple[int, ...]) -> Control:
    if kind == Type.PROBE_ACK:
        return ProbeAck(session, *fields)
    if kind == Type.ANNOUNCE:
        if not 0 < fields[0] <= MAX_DATAGRAM_BYTES:
            raise PacketError("value")
        return Announce(session, fields[0])
    if kind == Type.JOIN:
        window, cumulative, epoch, _ = fields
        return Join(
            session,
            bool(flags & JOIN_AGENT),
            bool(flags & JOIN_SPARE),
            bool(flags & JOIN_MEMBER),
            bool(flags & JOIN_FROM_START),
            epoch,
            window,
            cumulative,
        )
    if kind == Type.QUERY:
        return Query(session, fields[0])
    if kind == Type.MOVE:
        return Move(session, unpack_address(data, MOVE.size - 2 - ADDRESS.size))
    return ReportAck(session, fields[0])


_LAYOUTS: Final[dict[int, struct.Struct]] = {
    Type.PROBE: PROBE,
    Type.PROBE_ACK: PROBE_ACK,
    Type.ANNOUNCE: ANNOUNCE,
    Type.JOIN: JOIN,
    Type.JOIN_ACK: JOIN_ACK,
    Type.QUERY: QUERY,
    Type.OFFER: OFFER,
    Type.MOVE: MOVE,
    Type.REPORT: REPORT,
    Type.REPORT_ACK: REPORT_ACK,
}
