"""How sessions end, on the wire: ABORT, which is the same in all protocols, and the FIN of those that confirm a stream.

Types and protocol numbers are the protocols' own.
"""

import enum
from typing import Final, NamedTuple

from hosts.wire.fields import Field, Number, Reserved
from hosts.wire.format import Format
from hosts.wire.reason import Reason

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


class MemberFin(NamedTuple):
    """A Fin that says whose it is."""

    session: int
    answer: bool
    complete: bool
    reason: Reason
    receiver: int


def abort_format(protocol: int, kind: enum.IntEnum) -> Format[Abort]:
    """The ABORT of a protocol, whose type for it is `kind`."""
    reason = Number("reason", 8, "why", kind=Reason)
    return Format(protocol, kind, Abort, reason, Reserved("reserved8", 8), Reserved("reserved", 16))


def fin_format(protocol: int, fin: enum.IntEnum, fin_ack: enum.IntEnum) -> Format[Fin]:
    """The FIN of a protocol and the receipt for it, with their types."""
    return Format(protocol, (fin, fin_ack), Fin, *_verdict(), second="answer")


def member_fin_format(protocol: int, fin: enum.IntEnum, fin_ack: enum.IntEnum) -> Format[MemberFin]:
    """The same with the receiver's id."""
    receiver = Number("receiver", 32, "whose it is")
    return Format(protocol, (fin, fin_ack), MemberFin, *_verdict(), receiver, second="answer")


def _verdict() -> tuple[Field, ...]:
    return (
        Number("complete", 8, "1: the receiver has the whole stream; 0: not", kind=bool),
        Number("reason", 8, "why it ends", kind=Reason),
        Reserved("reserved", 16),
    )
