"""What receivers of a file say of its blocks (ours; TFMCC itself is unreliable)."""

from typing import Final

from hosts.parts.fec.pieces import BlockStatus, blocks_format, first_needs
from hosts.protocols.tfmcc.packets import NUMBER, Type
from hosts.wire.checks import read_header
from hosts.wire.header import HEADER_BYTES, VERSION

BLOCKS: Final = blocks_format(NUMBER, Type.BLOCKS, BlockStatus)


def is_blocks(data: bytes) -> bool:
    """Whether a datagram says that it is a BLOCKS."""
    return len(data) >= HEADER_BYTES and data[0] == VERSION and data[1] == NUMBER and data[2] == Type.BLOCKS


def encode_status(status: BlockStatus) -> bytes:
    """A BLOCKS; with the first needs."""
    return BLOCKS.encode(status._replace(needs=first_needs(status.needs)))


def parse_status(data: bytes) -> BlockStatus:
    """Raises PacketError."""
    return BLOCKS.decode(data, *read_header(data, NUMBER))
