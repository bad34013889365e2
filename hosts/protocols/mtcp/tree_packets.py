"""The packets that build and keep the logical tree: joining a parent, probing it or a child, ending, moving elsewhere,
and telling the sender who is there (ours: the paper has no format and leaves the tree to others).

Fixed-size fields after the common header, in network order; lists of addresses or members follow at the end.
"""

import enum
from typing import Final, NamedTuple, TypeAlias

from hosts.endpoint import Address
from hosts.protocols.mtcp.wire import ADDRESS, MAX_ADDRESSES, NUMBER, Type
from hosts.wire.farewell import Abort, Fin, abort_encoder, abort_format, fin_format
from hosts.wire.fields import Flag, Marks, Number, Reserved, Size
from hosts.wire.format import Format
from hosts.wire.header import MAX_DATAGRAM_BYTES, MAX_SEALABLE_BYTES
from hosts.wire.layout import Inner, Items, Layout
from hosts.wire.reason import Reason


class Probe(NamedTuple):
    """A question for the round trip time (3.3); a parent also says what a child should know."""

    session: int
    time_us: int
    rtt_us: int = 0
    silence_ms: int = 0
    lineage: tuple[Address, ...] = ()


PROBE: Final = Format(
    NUMBER,
    Type.PROBE,
    Probe,
    Number("time_us", 64, "clock of who asks"),
    Number(
        "rtt_us",
        32,
        "round trip time to this child as its parent has measured it; 0: unknown, or a child asks",
        cut=True,
    ),
    Number("silence_ms", 32, "how long ago the sender was heard of", cut=True),
    Size("count", 16, "addresses", of="lineage"),
    Reserved("reserved", 16),
    Items("addresses", ADDRESS, "the parent's parent, and so on up to the sender", "lineage", most=MAX_ADDRESSES),
)


class ProbeAck(NamedTuple):
    """The answer to a probe."""

    session: int
    time_us: int
    clock_us: int


PROBE_ACK: Final = Format(
    NUMBER,
    Type.PROBE_ACK,
    ProbeAck,
    Number("time_us", 64, "the probe's"),
    Number("clock_us", 64, "the sender's clock as who answers sees it; 0: it cannot tell"),
)


class Announce(NamedTuple):
    """Multicast by the sender until it starts, and when it is quiet: I am at the address that this comes from."""

    session: int
    payload_bytes: int


ANNOUNCE: Final = Format(
    NUMBER,
    Type.ANNOUNCE,
    Announce,
    Number("payload_bytes", 16, "largest payload of a packet", least=1, most=MAX_DATAGRAM_BYTES),
    Reserved("reserved", 16),
)


class Join(NamedTuple):
    """A receiver wants to be a child."""

    session: int
    agent: bool
    spare: bool
    member: bool
    from_start: bool
    epoch: int
    window: int
    cumulative: int


JOIN: Final = Format(
    NUMBER,
    Type.JOIN,
    Join,
    Number("window", 32, "bytes of its buffer", cut=True),
    Number("cumulative", 32, "the first packet that a member lacks", wraps=True),
    Number(
        "epoch", 16, "how often it has asked somebody; the last answer counts, and what it says of itself", wraps=True
    ),
    Reserved("reserved", 16),
    flags=(
        Flag("agent", 0x01, "it serves other receivers"),
        Flag("spare", 0x02, "it would, if it is needed"),
        Flag("member", 0x04, "it takes part already, and has lost its parent"),
        Flag("from_start", 0x08, "it wants the whole stream or nothing"),
    ),
)


class JoinAck(NamedTuple):
    """The answer."""

    session: int
    merge: bool
    reason: Reason
    epoch: int
    number: int = 0
    first: int = 0
    offset: int = 0
    child: Address = Address("0.0.0.0", 0)
    lineage: tuple[Address, ...] = ()


JOIN_ACK: Final = Format(
    NUMBER,
    Type.JOIN_ACK,
    JoinAck,
    Number("reason", 8, "NONE when it is welcome", kind=Reason),
    Size("count", 8, "addresses", of="lineage"),
    Number("number", 16, "the child's, among its parent's children; of interest only if it is small", wraps=True),
    Number("epoch", 16, "the join's"),
    Reserved("reserved", 16),
    Number("first", 32, "the first packet that the parent answers for", wraps=True),
    Number("offset", 64, "of its first byte in the stream"),
    Inner(ADDRESS, "who asked, as seen from the parent", "child", "child_"),
    Items("addresses", ADDRESS, "as in PROBE", "lineage", most=MAX_ADDRESSES),
    flags=(Flag("merge", 0x01, "switches may merge this child's feedback with others'"),),
)


class Query(NamedTuple):
    """Would you be my parent, and who else might?"""

    session: int
    time_us: int


QUERY: Final = Format(NUMBER, Type.QUERY, Query, Number("time_us", 64, "clock of who asks"))


class Offer(NamedTuple):
    """The answer to a query."""

    session: int
    room: bool
    agent: bool
    time_us: int
    load: int
    level: int
    others: tuple[Address, ...]
    member: bool = False


OFFER: Final = Format(
    NUMBER,
    Type.OFFER,
    Offer,
    Number("time_us", 64, "the query's"),
    Number("load", 16, "its children", cut=True),
    Number("level", 8, "0: the sender", cut=True),
    Size("count", 8, "addresses", of="others"),
    Items(
        "addresses", ADDRESS, "who else may be asked; those that serve others come first", "others", most=MAX_ADDRESSES
    ),
    flags=(
        Flag("room", 0x01, "it takes another child"),
        Flag("agent", 0x02, "it serves others already, or was asked to; otherwise it would if need be"),
        Flag("member", 0x04, "the sender's: who asks is a member that it knows of"),
    ),
)


class Move(NamedTuple):
    """A parent leaves: its children should join `parent`."""

    session: int
    parent: Address


MOVE: Final = Format(NUMBER, Type.MOVE, Move, Inner(ADDRESS, "the new parent", "parent"), Reserved("reserved", 16))


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
    epoch: int
    state: State
    reason: Reason
    agent: bool
    spare: bool


ENTRY: Final = Layout(
    "member",
    Entry,
    Inner(ADDRESS, "the member's", "address"),
    Inner(ADDRESS, "its parent's", "parent", "parent_"),
    Number("epoch", 16, "the join's that made it a child of this parent"),
    Marks("marks", 4, Flag("agent", 0x1, "as in JOIN"), Flag("spare", 0x2, "as in JOIN")),
    Number("state", 4, "where it stands", kind=State),
    Number("reason", 8, "why it has left", kind=Reason),
)


class Report(NamedTuple):
    """An agent tells its parent what has changed below; repeated until it is acknowledged."""

    session: int
    number: int
    entries: tuple[Entry, ...]


REPORT: Final = Format(
    NUMBER,
    Type.REPORT,
    Report,
    Number("number", 32, "counts the agent's reports", wraps=True),
    Size("count", 16, "members", of="entries"),
    Reserved("reserved", 16),
    Items("members", ENTRY, "of whom something has changed", "entries"),
)
MAX_ENTRIES: Final = (MAX_SEALABLE_BYTES - REPORT.size) // ENTRY.size
"""Members in one report."""


class ReportAck(NamedTuple):
    """The parent knows."""

    session: int
    number: int


REPORT_ACK: Final = Format(NUMBER, Type.REPORT_ACK, ReportAck, Number("number", 32, "the report's", wraps=True))

FIN: Final = fin_format(NUMBER, Type.FIN, Type.FIN_ACK)
ABORT: Final = abort_format(NUMBER, Type.ABORT)

Control: TypeAlias = (
    Probe | ProbeAck | Announce | Join | JoinAck | Fin | Abort | Query | Offer | Move | Report | ReportAck
)
CONTROL: Final = (PROBE, PROBE_ACK, ANNOUNCE, JOIN, JOIN_ACK, FIN, ABORT, QUERY, OFFER, MOVE, REPORT, REPORT_ACK)


def encode_probe(
    session: int, time_us: int, rtt_us: int = 0, silence_ms: int = 0, lineage: tuple[Address, ...] = ()
) -> bytes:
    """A PROBE."""
    return PROBE.encode(Probe(session, time_us, rtt_us, silence_ms, lineage))


def encode_probe_ack(session: int, time_us: int, clock_us: int) -> bytes:
    """A PROBE_ACK."""
    return PROBE_ACK.encode(ProbeAck(session, time_us, clock_us))


def encode_announce(session: int, payload_bytes: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.encode(Announce(session, payload_bytes))


encode_join: Final = JOIN.encode
"""A JOIN. `cumulative` and `epoch` are taken modulo their width."""


encode_join_ack: Final = JOIN_ACK.encode
"""A JOIN_ACK. `first` and `number` are taken modulo their width."""


def encode_fin(session: int, answer: bool, complete: bool, reason: Reason) -> bytes:
    """A FIN, or the FIN_ACK to one."""
    return FIN.encode(Fin(session, answer, complete, reason))


encode_abort: Final = abort_encoder(ABORT)
"""An ABORT."""


def encode_query(session: int, time_us: int) -> bytes:
    """A QUERY."""
    return QUERY.encode(Query(session, time_us))


def encode_offer(offer: Offer) -> bytes:
    """An OFFER; at most MAX_ADDRESSES others are named."""
    return OFFER.encode(offer._replace(others=offer.others[:MAX_ADDRESSES]))


def encode_move(session: int, parent: Address) -> bytes:
    """A MOVE."""
    return MOVE.encode(Move(session, parent))


def encode_report(session: int, number: int, entries: list[Entry]) -> bytes:
    """A REPORT of at most MAX_ENTRIES members."""
    return REPORT.encode(Report(session, number, tuple(entries)))


def encode_report_ack(session: int, number: int) -> bytes:
    """A REPORT_ACK."""
    return REPORT_ACK.encode(ReportAck(session, number))
