"""How sessions end, on the wire: ABORT, which is the same in all protocols, and the FIN of those that confirm a stream.

Types and protocol numbers are the protocols' own.
"""

import enum
from collections.abc import Callable
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


class Leave(NamedTuple):
    """A receiver that the rate goes by leaves: its last word."""

    session: int
    receiver: int
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
    return Format(protocol, kind, Abort, *_why())


def abort_encoder(abort: Format[Abort]) -> Callable[[int, Reason], bytes]:
    """Writes a protocol's ABORT of a session."""
    return lambda session, reason: abort.encode(Abort(session, reason))


def leave_format(protocol: int, kind: enum.IntEnum) -> Format[Leave]:
    """The LEAVE of a protocol, whose type for it is `kind`."""
    return Format(protocol, kind, Leave, Number("receiver", 32, "receiver id", least=1), *_why())


def _why() -> tuple[Field, ...]:
    return Number("reason", 8, "why", kind=Reason), Reserved("reserved8", 8), Reserved("reserved", 16)


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
