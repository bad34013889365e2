"""How a file's blocks travel in TFMCC's packets, and what receivers say of them (ours; TFMCC itself is unreliable).

The payload of a DATA packet of a file: block (32 bits), the block's bytes (32), how many blocks' source symbols have
all been sent (32: what is missing of those is lost), then nothing or one packet of `hosts.parts.fec.block`.

BLOCKS is unicast to the sender.
"""

import struct
from typing import Final, NamedTuple

from hosts.parts.fec.block import LEAST_PACKET_BYTES
from hosts.protocols.tfmcc.packets import NUMBER, Type
from hosts.wire.checks import read_header
from hosts.wire.fields import Number, Reserved, Size
from hosts.wire.format import Format
from hosts.wire.header import HEADER_BYTES, VERSION, PacketError
from hosts.wire.layout import Items, Layout

FLAG_LAST: Final = 1 << 31
"""In the payload's field of the block's bytes: no block follows."""
PAYLOAD: Final = struct.Struct("!III")
LEAST_PAYLOAD_BYTES: Final = PAYLOAD.size + LEAST_PACKET_BYTES
"""Of a DATA packet of a file."""
MOST_NEEDS: Final = 64
"""Blocks that one BLOCKS names, more than are ever under way (ours)."""


class Piece(NamedTuple):
    """The payload of a DATA packet."""

    block: int
    length: int
    last: bool
    passed: int
    packet: bytes


class Need(NamedTuple):
    """An incomplete block."""

    block: int
    packets: int


NEED: Final = Layout(
    "need",
    Need,
    Number("block", 32, "its number"),
    Number("packets", 16, "how many it needs", cut=True),
    Reserved("reserved", 16),
)


class BlockStatus(NamedTuple):
    """What a receiver has of a file."""

    session: int
    receiver: int
    seq: int
    delivered: int
    needs: tuple[tuple[int, int], ...]


BLOCKS: Final = Format(
    NUMBER,
    Type.BLOCKS,
    BlockStatus,
    Number("receiver", 32, "receiver id"),
    Number("seq", 32, "of the last DATA that arrived", wraps=True),
    Number("delivered", 32, "blocks delivered in order"),
    Reserved("reserved8", 8),
    Size("count", 8, "needs", of="needs"),
    Reserved("reserved", 16),
    Items("needs", NEED, "incomplete blocks that should be there"),
)


def encode_piece(piece: Piece) -> bytes:
    """A payload."""
    length = piece.length | (FLAG_LAST if piece.last else 0)
    return PAYLOAD.pack(piece.block, length, piece.passed) + piece.packet


def parse_piece(payload: bytes) -> Piece:
    """Raises PacketError."""
    if len(payload) < PAYLOAD.size:
        raise PacketError("truncated")
    block, length, passed = PAYLOAD.unpack_from(payload)
    return Piece(block, length & ~FLAG_LAST, bool(length & FLAG_LAST), passed, payload[PAYLOAD.size :])


def is_blocks(data: bytes) -> bool:
    """Whether a datagram says that it is a BLOCKS."""
    return len(data) >= HEADER_BYTES and data[0] == VERSION and data[1] == NUMBER and data[2] == Type.BLOCKS


def encode_status(status: BlockStatus) -> bytes:
    """A BLOCKS; with the first `MOST_NEEDS` needs."""
    return BLOCKS.encode(status._replace(needs=tuple(Need(*need) for need in status.needs[:MOST_NEEDS])))


def parse_status(data: bytes) -> BlockStatus:
    """Raises PacketError."""
    return BLOCKS.decode(data, *read_header(data, NUMBER))
