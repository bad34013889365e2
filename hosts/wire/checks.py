"""What the packet formats of all protocols share: the check of the common header and of sizes."""

from collections import Counter
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from hosts.wire.header import HEADED_VERSION, HEADER, HEADER_BYTES, SEALED_VERSION, VERSION, PacketError


def read_header(data: bytes, protocol: int) -> tuple[int, int, int]:
    """Type, flags and session of a datagram of this protocol. Raises PacketError: truncated, sealed, version,
    protocol."""
    if len(data) < HEADER_BYTES:
        raise PacketError("truncated")
    version, number, kind, flags, session = HEADER.unpack_from(data)
    if version != VERSION:
        raise PacketError("sealed" if version in (SEALED_VERSION, HEADED_VERSION) else "version")
    if number != protocol:
        raise PacketError("protocol")
    return kind, flags, session


def check_size(size: int, right: int) -> None:
    """Raises PacketError (truncated, oversized) unless a packet has the right size."""
    if size < right:
        raise PacketError("truncated")
    if size > right:
        raise PacketError("oversized")


class OfSession(Protocol):
    """Every packet is of a session."""

    @property
    def session(self) -> int: ...


P = TypeVar("P")
S = TypeVar("S", bound=OfSession)


def read_packet(
    data: bytes, parse: Callable[[bytes], S], counters: Counter[str], session: int | None = None
) -> S | None:
    """The packet in a datagram, as a protocol's `parse` reads it. None, and a drop counted, when it is malformed or of
    another session than `session`.
    """
    try:
        packet = parse(data)
    except PacketError as error:
        counters[f"drop_{error.reason}"] += 1
        return None
    if session is not None and packet.session != session:
        counters["drop_other_session"] += 1
        return None
    return packet


class DataReader(Generic[P]):
    """Reads the DATA packets of one protocol.

    Receivers that share a process are handed the same bytes one after another, or behind a switch that writes into
    each copy equal ones: these are read once.
    """

    __slots__ = ("_head", "_packet", "_read", "_seen")

    def __init__(self, protocol: int, kind: int, read: Callable[[bytes], P]) -> None:
        """`kind`: DATA's type; `read`: the rest, which raises PacketError."""
        self._head = (VERSION, protocol, kind)
        self._read = read
        self._seen = b""
        self._packet: P | None = None

    def __call__(self, data: bytes) -> P | None:
        """A DATA packet, or None for anything else, which the protocol's `parse` then judges."""
        if data == self._seen:
            return self._packet
        if tuple(data[:3]) != self._head:
            return None
        try:
            packet = self._read(data)
        except PacketError:
            return None
        self._seen, self._packet = data, packet
        return packet
