"""What the packet formats of all protocols share: the check of the common header, of sizes, and of reasons."""

from hosts.header import HEADER, HEADER_BYTES, VERSION, PacketError
from hosts.reason import Reason


def read_header(data: bytes, protocol: int) -> tuple[int, int, int]:
    """Type, flags and session of a datagram of this protocol. Raises PacketError: truncated, version, protocol."""
    if len(data) < HEADER_BYTES:
        raise PacketError("truncated")
    version, number, kind, flags, session = HEADER.unpack_from(data)
    if version != VERSION:
        raise PacketError("version")
    if number != protocol:
        raise PacketError("protocol")
    return kind, flags, session


def check_size(size: int, right: int) -> None:
    """Raises PacketError (truncated, oversized) unless a packet has the right size."""
    if size < right:
        raise PacketError("truncated")
    if size > right:
        raise PacketError("oversized")


def to_reason(value: int) -> Reason:
    """Raises PacketError (value) for a number that means nothing."""
    try:
        return Reason(value)
    except ValueError:
        raise PacketError("value") from None


def to_bool(value: int) -> bool:
    """An octet that is 0 or 1. Raises PacketError (value) for another one."""
    if value > 1:
        raise PacketError("value")
    return bool(value)
