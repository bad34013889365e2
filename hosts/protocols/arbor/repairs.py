"""Repairs of a real-time stream with a deadline: blocks of packets as RaptorQ symbols (RFC 6330), and how many are sent
before anybody asks.

The payload of a DATA packet of such a stream begins as `BEGINNING` says. Of a repair a packet of
`hosts.parts.fec.block` follows. A symbol is what is known of a packet that comes (`hosts.parts.fec.timed`).
"""

from functools import lru_cache
from typing import Final, NamedTuple

from hosts.parts.fec import timed
from hosts.parts.fec.block import symbol_bytes
from hosts.wire.fields import Number
from hosts.wire.header import PacketError
from hosts.wire.layout import Layout
from hosts.wire.units import MAX_U32

BEGINNING: Final = Layout[object](
    "payload of a stream with a deadline",
    None,
    Number("number", 32, "of a packet of the stream; a repair's: of its block's first one", wraps=True),
    Number("packets", 16, "of the block; 0: it is the stream's packet itself, whose bytes follow"),
    Number("coming", 16, "repairs of the block that follow"),
    meaning="What the payload of a DATA packet begins with where `deadline_s` is set.",
)
HEAD: Final = BEGINNING.struct
MOST_PACKETS: Final = 128
"""Of a block: beyond that a repair is not much better shared (ours)."""
BLOCK_PART: Final = 1 / 4
"""Of the deadline: a block has no packets of a longer time, so that its repairs come early enough (ours)."""
MISSED: Final = 1e-5
"""Of blocks, at one receiver, for which what is sent unasked is not enough (ours)."""
MOST_LOSS: Final = 0.2
"""What is repaired unasked; whoever loses more asks (ours)."""


class Head(NamedTuple):
    """What a payload begins with."""

    number: int
    packets: int
    coming: int


def symbol_size(payload_bytes: int) -> int:
    """Bytes of a symbol, in DATA with so many bytes."""
    return symbol_bytes(payload_bytes - HEAD.size)


def most_data(payload_bytes: int) -> int:
    """Bytes of the stream in a packet of it."""
    return timed.most_data(symbol_size(payload_bytes))


def of_stream(number: int, data: bytes) -> bytes:
    """The payload of a packet of the stream."""
    return HEAD.pack(number & MAX_U32, 0, 0) + data


def repair(first: int, count: int, coming: int, packet: bytes) -> bytes:
    """The payload of a repair of the block of `count` packets from `first` on."""
    return HEAD.pack(first & MAX_U32, count, coming) + packet


def parse_head(payload: bytes) -> Head:
    """What follows is the rest. PacketError."""
    if len(payload) <= HEAD.size:
        raise PacketError("truncated")
    head = Head._make(HEAD.unpack_from(payload))
    if head.packets > MOST_PACKETS:
        raise PacketError("value")
    return head


@lru_cache(maxsize=1024)
def unasked(count: int, loss: float) -> int:
    """Repairs of a block of `count` packets with which all but `MISSED` of the blocks come whole, at independent
    losses: the least r with P(more than r of count + r are lost) <= MISSED. At least one, which says what the block is.
    """
    repairs = 1
    while _tail(count + repairs, repairs, min(loss, MOST_LOSS)) > MISSED:
        repairs += 1
    return repairs


def _tail(packets: int, most: int, loss: float) -> float:
    """The probability that more than `most` of so many are lost."""
    one = (1 - loss) ** packets
    left = 1.0
    for lost in range(most + 1):
        left -= one
        one *= (packets - lost) / (lost + 1) * loss / (1 - loss)
    return left
