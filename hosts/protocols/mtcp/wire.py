"""What all of MTCP's packet formats share: the numbers in the common header, sizes, and lists of addresses."""

import enum
import socket
import struct
from collections.abc import Iterable
from typing import Final

from hosts.endpoint import Address
from hosts.wire.checks import check_size
from hosts.wire.header import PacketError

NUMBER: Final = 1
"""MTCP's protocol number in the common header."""
UNLIMITED: Final = 2**32 - 1
"""All ones: a leaf's min_cwnd, the neutral element of the minimum."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    REPAIR = 2
    ACK = 3
    NACK = 4
    PROBE = 5
    PROBE_ACK = 6
    ANNOUNCE = 7
    JOIN = 8
    JOIN_ACK = 9
    FIN = 10
    FIN_ACK = 11
    ABORT = 12
    QUERY = 13
    OFFER = 14
    MOVE = 15
    REPORT = 16
    REPORT_ACK = 17


ADDRESS: Final = struct.Struct("!4sH")
"""An IPv4 address and a UDP port."""
MAX_ADDRESSES: Final = 128
"""In one packet: 768 bytes (ours)."""


def pack_address(address: Address) -> bytes:
    """Six bytes."""
    return ADDRESS.pack(socket.inet_aton(address.host), address.port)


def unpack_address(data: bytes, at: int) -> Address:
    """The address at a place."""
    host, port = ADDRESS.unpack_from(data, at)
    return Address(socket.inet_ntoa(host), port)


def pack_addresses(addresses: Iterable[Address]) -> bytes:
    """A list of addresses, one behind the other."""
    return b"".join(map(pack_address, addresses))


def unpack_addresses(data: bytes, at: int, count: int) -> tuple[Address, ...]:
    """The `count` addresses that must fill the rest of a packet. Raises PacketError."""
    if count > MAX_ADDRESSES:
        raise PacketError("value")
    check_size(len(data), at + count * ADDRESS.size)
    return tuple(unpack_address(data, at + index * ADDRESS.size) for index in range(count))
