"""What a receiver asks before it joins: what will be sent? and tells: so much of it is here already (ours).

The types are the same in every protocol that has files. Only a receiver that may have something asks, so a session of
others has none of these packets.
"""

import enum
from typing import Any, Final, NamedTuple

from hosts.wire.fields import Number, Payload, Size
from hosts.wire.format import Format
from hosts.wire.header import HEADER_BYTES

PIECE_BYTES: Final = 1200
"""Of the list of files, in one OFFER."""
PADDING_BYTES: Final = PIECE_BYTES // 3
"""Of an ASK: who asks in another's name makes a sender send no more than three times as much (RFC 9000, section 8)."""


class Type(enum.IntEnum):
    """Above those of any protocol's own."""

    ASK = 0x70
    OFFER = 0x71
    HELD = 0x72
    HEARD = 0x73


class Ask(NamedTuple):
    """A receiver wants the list of files from byte `at` on."""

    session: int
    at: int
    padding: bytes = bytes(PADDING_BYTES)


class Offer(NamedTuple):
    """The sender's answer."""

    session: int
    at: int
    total: int
    piece: bytes


class Held(NamedTuple):
    """A receiver has the first so many bytes of all files, one after the other."""

    session: int
    size: int
    heard: bool
    """The sender has heard it."""


class Offers(NamedTuple):
    """One protocol's."""

    number: int
    ask: Format[Ask]
    offer: Format[Offer]
    held: Format[Held]

    @property
    def packets(self) -> tuple[Format[Any], ...]:
        """All."""
        return self.ask, self.offer, self.held


def offers(number: int) -> Offers:
    """Those of the protocol that has this number in the common header."""
    at = Number("at", 32, "first byte of the list that is asked for, or follows")
    return Offers(
        number,
        Format(
            number,
            Type.ASK,
            Ask,
            at,
            Size("length", 16, "of the padding, bytes", "padding"),
            Payload("padding", "as long as a third of the answer"),
        ),
        Format(
            number,
            Type.OFFER,
            Offer,
            at,
            Number("total", 32, "bytes of the whole list"),
            Size("length", 16, "of what follows, bytes", "piece"),
            Payload("piece", "of the list of files"),
        ),
        Format(
            number,
            (Type.HELD, Type.HEARD),
            Held,
            Number("size", 64, "first bytes of all files, one after the other, that the receiver has"),
            second="heard",
        ),
    )


def kind_of(data: bytes, number: int) -> int | None:
    """The type, when it is one of these."""
    if len(data) >= HEADER_BYTES and data[1] == number and Type.ASK <= data[2] <= Type.HEARD:
        return data[2]
    return None
