"""What every ACK of MTCP's says, and the shortest that says it: of a child that lacks nothing."""

from typing import Final, NamedTuple

from hosts.protocols.mtcp.wire import NUMBER, UNLIMITED, Type
from hosts.wire.checks import check_size
from hosts.wire.fields import Flag, Number
from hosts.wire.format import Format
from hosts.wire.header import VERSION

FLAG_MARKED: Final = 0x08
FLAG_NEEDLESS: Final = 0x40
CUMULATIVE: Final = Number("cumulative", 32, "the first packet that is missing: all before it have arrived", wraps=True)
HELD: Final = Number(
    "held_us", 32, "from the arrival of the packet that `echo_time_us` names to this feedback's departure", cut=True
)
ECHO: Final = Number("echo_time_us", 64, "send_time_us of the last DATA that arrived, 0: none yet")
REPAIR_ECHO: Final = Number("repair_echo_us", 64, "repair_time_us of the last REPAIR that arrived, 0: none yet")
MIN_CWND: Final = Number(
    "min_cwnd", 32, "bytes: minimum of the congestion windows below; all ones from a leaf", default=UNLIMITED, cut=True
)
MAX_TWND: Final = Number("max_twnd", 32, "bytes: maximum of the transit windows below; 0 from a leaf", cut=True)
WINDOW: Final = Number("window", 32, "bytes free for the stream from `cumulative` on (the advertised window)", cut=True)
MARKED: Final = Flag(
    "marked", FLAG_MARKED, "a queue has marked DATA since the last feedback (ECN, RFC 3168); never merged"
)
NEEDLESS: Final = Flag(
    "needless",
    FLAG_NEEDLESS,
    "the REPAIR that came last was of a packet that had arrived before (as DSACK, RFC 2883); never merged",
)


class Progress(NamedTuple):
    """An ACK of a child that lacks nothing, and that no switch is to merge (`rules: adaptive`): half as long."""

    session: int
    cumulative: int
    echo_time_us: int
    held_us: int
    repair_echo_us: int
    min_cwnd: int
    max_twnd: int
    window: int
    marked: bool = False
    needless: bool = False


PROGRESS: Final = Format(
    NUMBER,
    Type.PROGRESS,
    Progress,
    CUMULATIVE,
    HELD,
    ECHO,
    REPAIR_ECHO,
    MIN_CWND,
    MAX_TWND,
    WINDOW,
    flags=(MARKED, NEEDLESS),
)
_PROGRESS: Final = PROGRESS.struct


def encode_progress(
    session: int,
    cumulative: int,
    echo_time_us: int,
    held_us: int,
    repair_echo_us: int,
    min_cwnd: int,
    max_twnd: int,
    window: int,
    *,
    marked: bool = False,
    needless: bool = False,
) -> bytes:
    """A host's ACK that says of no packet beyond `cumulative`; as `encode_feedback` else."""
    return _PROGRESS.pack(
        VERSION,
        NUMBER,
        Type.PROGRESS,
        FLAG_MARKED * marked | FLAG_NEEDLESS * needless,
        session,
        cumulative & 0xFFFFFFFF,
        min(held_us, UNLIMITED),
        echo_time_us,
        repair_echo_us,
        min(min_cwnd, UNLIMITED),
        min(max_twnd, UNLIMITED),
        min(window, UNLIMITED),
    )


def decode_progress(data: bytes, flags: int, session: int) -> Progress:
    """Of a datagram with these flags and that session in its header. Raises PacketError: truncated, oversized."""
    check_size(len(data), _PROGRESS.size)
    cumulative, held_us, echo, repair_echo, min_cwnd, max_twnd, window = _PROGRESS.unpack(data)[5:]
    marked, needless = bool(flags & FLAG_MARKED), bool(flags & FLAG_NEEDLESS)
    return Progress(session, cumulative, echo, held_us, repair_echo, min_cwnd, max_twnd, window, marked, needless)
