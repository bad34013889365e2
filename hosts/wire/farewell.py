"""How sessions end, on the wire: ABORT, which is the same in all protocols, and the FIN of those that confirm a stream.

After the common header ABORT has a reason (8 bits) and 24 reserved ones; FIN whether the stream is complete (8), a
reason (8) and 16 reserved bits. Types and protocol numbers are the protocols' own.
"""

import struct
from typing import Final, NamedTuple

from hosts.wire.checks import check_size, to_bool, to_reason
from hosts.wire.header import VERSION
from hosts.wire.reason import Reason

ABORT: Final = struct.Struct("!BBBBIB3x")
FIN: Final = struct.Struct("!BBBBIBB2x")
ABORT_COPIES: Final = 3
"""An ABORT is not acknowledged; it is sent so often (ours)."""
FIN_TRIES: Final = 10
"""A FIN is repeated this often; after that the sender is taken to be gone (ours)."""


class Abort(NamedTuple):
    """The sender ends the session or one receiver's part in it; where receivers may say so, one leaves; and in a tree a
    parent drops a child."""

    session: int
    reason: Reason


class Fin(NamedTuple):
    """A receiver's last word (`answer` False), or the receipt for it (the type FIN_ACK)."""

    session: int
    answer: bool
    complete: bool
    reason: Reason


def pack_abort(protocol: int, kind: int, session: int, reason: Reason) -> bytes:
    """An ABORT of a protocol, whose type for it is `kind`."""
    return ABORT.pack(VERSION, protocol, kind, 0, session, reason)


def read_abort(data: bytes) -> Abort:
    """The common header has been judged already. Raises PacketError: truncated, oversized, value."""
    check_size(len(data), ABORT.size)
    *_, session, reason = ABORT.unpack(data)
    return Abort(session, to_reason(reason))


def pack_fin(protocol: int, kind: int, session: int, complete: bool, reason: Reason) -> bytes:
    """A FIN of a protocol, or the receipt for it: `kind` is its type."""
    return FIN.pack(VERSION, protocol, kind, 0, session, complete, reason)


def read_fin(data: bytes, answer: bool) -> Fin:
    """The common header has been judged already. Raises PacketError: truncated, oversized, value."""
    check_size(len(data), FIN.size)
    *_, session, complete, reason = FIN.unpack(data)
    return Fin(session, answer, to_bool(complete), to_reason(reason))
