"""A file on its way: what packets carry of its blocks, and what receivers say of them.

The payload of a DATA packet of a file begins as `PIECE` says; then comes nothing, or one packet of
`hosts.parts.fec.block`.

BLOCKS is unicast to the sender; its type and the protocol's number are the protocols' own.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from canopy_engine import following_symbols

from hosts.parts.fec.block import LEAST_PACKET_BYTES, PAYLOAD_ID_BYTES
from hosts.wire.checks import OfSession
from hosts.wire.fields import Flag, Number, Octets, Reserved, Size
from hosts.wire.format import Format
from hosts.wire.header import PacketError
from hosts.wire.layout import Items, Layout
from hosts.wire.short_hash import HASH_BYTES

S = TypeVar("S", bound=OfSession)

FLAG_LAST: Final = 1 << 31
"""In the payload's field of the block's bytes: no block follows."""
LENGTH_BITS: Final = 24
"""Of that field, the lowest: the block's bytes."""
MOST_LENGTH: Final = (1 << LENGTH_BITS) - 1
MOST_COMING: Final = 127
"""Repairs to come that a piece tells of; more are told of by those."""
PIECE: Final = Layout[object](
    "payload of a file",
    None,
    Number("block", 32, "number of the block"),
    Number("length", 32, "a bit: no block follows; 7 bits: how many repairs of it do; 24: the block's bytes"),
    Number("passed", 32, "blocks whose source symbols have all been sent: what is missing of those is lost"),
    Octets("digest", 8 * HASH_BYTES, "first bytes of the block's SHA-256"),
    meaning="What the payload of a DATA packet of a file begins with; then nothing, or FEC Payload ID and symbols.",
)
PAYLOAD: Final = PIECE.struct
LEAST_PAYLOAD_BYTES: Final = PAYLOAD.size + LEAST_PACKET_BYTES
"""Of a DATA packet of a file."""
MOST_NEEDS: Final = 64
"""Blocks that one BLOCKS names, as many as are ever under way (ours)."""


class Piece(NamedTuple):
    """The payload of a DATA packet."""

    block: int
    length: int
    last: bool
    passed: int
    packet: bytes
    coming: int = 0
    digest: bytes = bytes(HASH_BYTES)


class Need(NamedTuple):
    """An incomplete block."""

    block: int
    packets: int


class BlockStatus(NamedTuple):
    """What a receiver has of a file."""

    session: int
    receiver: int
    seq: int
    delivered: int
    needs: tuple[tuple[int, int], ...]


NEED_BYTES: Final = 8
"""Of one need in BLOCKS."""


def blocks_format(protocol: int, kind: enum.IntEnum, make: Callable[..., S], *flags: Flag) -> Format[S]:
    """The BLOCKS of a protocol, whose type for it is `kind`. `make`: a BlockStatus, or one that has `flags`, too."""
    need = Layout(  # each protocol's own, for dissectors tell them apart
        "need",
        Need,
        Number("block", 32, "its number"),
        Number("packets", 16, "how many it needs", cut=True),
        Reserved("reserved", 16),
    )
    return Format(
        protocol,
        kind,
        make,
        Number("receiver", 32, "receiver id"),
        Number("seq", 32, "of the last DATA that arrived", wraps=True),
        Number("delivered", 32, "blocks delivered in order"),
        Reserved("reserved8", 8),
        Size("count", 8, "needs", of="needs"),
        Reserved("reserved", 16),
        Items("needs", need, "incomplete blocks that should be there"),
        flags=flags,
    )


def first_needs(needs: Sequence[tuple[int, int]]) -> tuple[Need, ...]:
    """As they can be written: the first `MOST_NEEDS`."""
    return tuple(Need(*need) for need in needs[:MOST_NEEDS])


def encode_piece(piece: Piece) -> bytes:
    """A payload. `coming` is cut off at `MOST_COMING`."""
    length = piece.length | min(piece.coming, MOST_COMING) << LENGTH_BITS | (FLAG_LAST if piece.last else 0)
    return PAYLOAD.pack(piece.block, length, piece.passed, piece.digest) + piece.packet


def following(payload: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Of payloads of `size` bytes each: those together of which the symbols follow each other, and how many came before
    them.
    """
    begin = 0
    while begin < len(payload):
        count = max(1, following_symbols(payload[begin:], size, PAYLOAD.size + PAYLOAD_ID_BYTES))
        yield begin // size, payload[begin : begin + count * size]
        begin += count * size


def parse_piece(payload: bytes) -> Piece:
    """Raises PacketError."""
    if len(payload) < PAYLOAD.size:
        raise PacketError("truncated")
    block, length, passed, digest = PAYLOAD.unpack_from(payload)
    coming = length >> LENGTH_BITS & MOST_COMING
    return Piece(block, length & MOST_LENGTH, bool(length & FLAG_LAST), passed, payload[PAYLOAD.size :], coming, digest)
