"""A packet of a real-time stream as a symbol of a block: what is known of one that comes, so that one that was lost is
known as well once its block is whole.

The symbol begins as `TIMED` says; then come the bytes, and zeros. (Ours.)
"""

from typing import Final, NamedTuple

from hosts.wire.fields import Number
from hosts.wire.header import PacketError
from hosts.wire.layout import Layout

TIMED: Final = Layout[object](
    "symbol of real-time data",
    None,
    Number("offset", 64, "in the stream"),
    Number("send_time_us", 64, "sender's clock, us"),
    Number("length", 16, "bytes of the stream, which follow; zeros fill the symbol"),
    meaning="What a packet of a stream with a deadline is as a symbol of its block.",
)
_HEAD: Final = TIMED.struct


class Timed(NamedTuple):
    """One packet of the stream."""

    offset: int
    send_time_us: int
    data: bytes


def most_data(symbol_bytes: int) -> int:
    """Bytes of the stream in a symbol of so many."""
    return symbol_bytes - _HEAD.size


def to_symbol(packet: Timed, size: int) -> bytes:
    """The symbol, `size` bytes long."""
    return (_HEAD.pack(packet.offset, packet.send_time_us, len(packet.data)) + packet.data).ljust(size, b"\0")


def of_symbol(symbol: bytes) -> Timed:
    """The packet. PacketError: it can be none."""
    if len(symbol) < _HEAD.size:
        raise PacketError("value")
    offset, send_time_us, length = _HEAD.unpack_from(symbol)
    data = symbol[_HEAD.size : _HEAD.size + length]
    if len(data) != length or not length:
        raise PacketError("value")
    return Timed(offset, send_time_us, data)
