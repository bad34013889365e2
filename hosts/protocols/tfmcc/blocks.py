"""How a file's blocks travel in TFMCC's packets, and what receivers say of them (ours; TFMCC itself is unreliable).

The payload of a DATA packet of a file: block (32 bits), the block's bytes (32), how many blocks' source symbols have
all been sent (32: what is missing of those is lost), then nothing or one packet of `hosts.parts.fec.block`.

BLOCKS, unicast to the sender after the common header: receiver (32), seq of the last DATA that arrived (32), blocks
delivered in order (32), reserved (8), count (8), reserved (16), then for each incomplete
block that should be there: its number (32), packets it needs (16), reserved (16).
"""

import struct
from typing import Final, NamedTuple

from hosts.parts.fec.block import LEAST_PACKET_BYTES
from hosts.protocols.tfmcc.packets import NUMBER
from hosts.wire.header import HEADER, VERSION, PacketError

BLOCKS_TYPE: Final = 9
"""In the common header's type; the other types are in hosts.protocols.tfmcc.packets."""
FLAG_LAST: Final = 1 << 31
"""In the payload's field of the block's bytes: no block follows."""
PAYLOAD: Final = struct.Struct("!III")
LEAST_PAYLOAD_BYTES: Final = PAYLOAD.size + LEAST_PACKET_BYTES
"""Of a DATA packet of a file."""
STATUS: Final = struct.Struct("!BBBBIIIIBBxx")
NEED: Final = struct.Struct("!IHxx")
MOST_NEEDS: Final = 64
"""Blocks that one BLOCKS names, more than are ever under way (ours)."""


class Piece(NamedTuple):
    """The payload of a DATA packet."""

    block: int
    length: int
    last: bool
    passed: int
    packet: bytes


class BlockStatus(NamedTuple):
    """A receiver's BLOCKS."""

    session: int
    receiver: int
    seq: int  # 32 bits on the wire
    delivered: int
    needs: tuple[tuple[int, int], ...]  # block, packets


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
    return len(data) >= HEADER.size and data[0] == VERSION and data[1] == NUMBER and data[2] == BLOCKS_TYPE


def encode_status(status: BlockStatus) -> bytes:
    """A BLOCKS; with the first `MOST_NEEDS` needs."""
    needs = status.needs[:MOST_NEEDS]
    head = STATUS.pack(
        VERSION,
        NUMBER,
        BLOCKS_TYPE,
        0,
        status.session,
        status.receiver,
        status.seq & 0xFFFFFFFF,
        status.delivered,
        0,
        len(needs),
    )
    return head + b"".join(NEED.pack(block, min(packets, 0xFFFF)) for block, packets in needs)


def parse_status(data: bytes) -> BlockStatus:
    """Raises PacketError."""
    if len(data) < STATUS.size:
        raise PacketError("truncated")
    *_, session, receiver, seq, delivered, _, count = STATUS.unpack_from(data)
    if len(data) != STATUS.size + count * NEED.size:
        raise PacketError("truncated" if len(data) < STATUS.size + count * NEED.size else "oversized")
    needs = tuple((block, packets) for block, packets in NEED.iter_unpack(data[STATUS.size :]))
    return BlockStatus(session, receiver, seq, delivered, needs)
