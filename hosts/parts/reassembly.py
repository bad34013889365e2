"""Puts the packets of a reliable stream in order: what a receiver delivers, and how much more it can take.

Sequence numbers are extended ones (hosts.wire.seq). Memory is bounded by the reach of the selective acknowledgment and
by the receive buffer, whichever is less.
"""

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

from hosts.endpoint import Deliver
from hosts.parts.sack import ReceivedSet
from hosts.wire.tree.checking import TreeChecker


class BrokenStreamError(Exception):
    """Two packets contradict each other: no stream contains both."""


class Piece(Protocol):
    """What every protocol's packet of a stream has."""

    @property
    def seq(self) -> int:
        """Its number, as it travels."""

    @property
    def offset(self) -> int:
        """Place of its first byte in the stream."""

    @property
    def payload(self) -> bytes: ...

    @property
    def end(self) -> bool:
        """The stream ends with it."""


Packet = TypeVar("Packet", bound=Piece)


class Reassembly(Generic[Packet]):
    """One stream, from packet `first` at byte `offset` on."""

    __slots__ = (
        "_checker",
        "_early",
        "_first",
        "_first_packet",
        "_next",
        "_reach",
        "buffer_bytes",
        "consumed",
        "delivered",
        "ended",
        "received",
    )

    def __init__(
        self, first: int, offset: int, buffer_bytes: int, reach: int, checker: TreeChecker | None = None
    ) -> None:
        """`reach`: packets beyond the first missing one that are taken at most. `checker`: by which wrong ones are
        known."""
        self.received = ReceivedSet(first)
        self.delivered = offset
        """Where the next byte to deliver is in the stream."""
        self.consumed = offset
        """Up to where the application has read."""
        self.ended = False
        """The last byte was delivered."""
        self.buffer_bytes = buffer_bytes
        self._checker = checker
        if checker is not None and offset:
            checker.is_off = True
        self._first = offset
        self._first_packet = first
        self._reach = reach
        self._next = first  # the packet to deliver next
        self._early: dict[int, tuple[int, Packet]] = {}  # by the first one's number: how many they are, as one

    @property
    def advertised_end(self) -> int:
        """Stream offset up to which data is taken: what cannot be checked yet is not."""
        bound = None if self._checker is None else self._checker.open_bytes
        end = self.consumed + self.buffer_bytes
        return end if bound is None or end < bound else bound

    @property
    def advertised_window(self) -> int:
        """Bytes that are free for the stream from the first missing packet on."""
        return self.advertised_end - self.delivered

    @property
    def received_bytes(self) -> int:
        """How much has been delivered; who joined late has not had what came before."""
        return self.delivered - self._first

    @property
    def early_packets(self) -> int:
        """Packets that wait for one before them."""
        return sum(count for count, _ in self._early.values())

    def early(self) -> Iterator[tuple[int, Packet]]:
        """These, in order, with their sequence numbers."""
        for seq, (count, packet) in sorted(self._early.items()):
            make: Any = packet  # a named tuple
            size = len(packet.payload) // count
            for number in range(count):
                at = number * size
                payload = packet.payload[at : at + size]
                yield seq + number, make._replace(seq=packet.seq + number, offset=packet.offset + at, payload=payload)

    def takes(self, seq: int, offset: int, size: int, count: int = 1) -> bool:
        """Whether `count` packets, of `size` bytes together, fit what is open now. A repeat of something that was
        delivered does."""
        missing = self.received.cumulative
        if seq < missing:
            return True
        return (
            seq + count - 1 - missing <= self._reach
            and self.delivered <= offset
            and offset + size <= self.advertised_end
        )

    def is_right(self, seq: int, packet: Packet, count: int = 1) -> bool:
        """Whether what is known of the stream ahead allows `count` packets, as one with all their payload."""
        checker = self._checker
        if checker is None or checker.lets_all_pass or seq < self.received.cumulative:
            return True
        number, payload, layout = seq - self._first_packet, packet.payload, checker.layout
        size = len(payload) // count if layout is None else layout.packet_bytes
        if packet.offset != number * size:
            return False
        if count > 1:
            return checker.takes_run(number, payload, count)
        return checker.takes(number, payload, end=packet.end)

    def add(self, seq: int, packet: Packet) -> list[Deliver] | None:
        """Take a packet that fits; what can be delivered now, None for a repeat. Raises BrokenStreamError."""
        if not self.received.add(seq):
            return None
        if self.ended:
            raise BrokenStreamError
        early = self._early
        if seq == self._next and not early:  # nothing waits: the usual case, made short
            offset, payload = packet.offset, packet.payload
            if offset != self.delivered:
                raise BrokenStreamError
            self._next += 1
            self.delivered += len(payload)
            self.ended = packet.end
            if self._checker is not None:
                self._checker.learn(payload)
            return [Deliver(offset, payload)] if payload else []
        early[seq] = (1, packet)
        return self._deliver()

    def add_run(self, seq: int, count: int, packet: Packet) -> list[Deliver] | None:
        """Take packets of equal size that follow each other and fit, as one with all their payload. None: some of them
        are repeats, and none is taken. Raises BrokenStreamError."""
        if not self.received.add_run(seq, count):
            return None
        if self.ended:
            raise BrokenStreamError
        self._early[seq] = (count, packet)
        return self._deliver() if seq == self._next else []

    def _deliver(self) -> list[Deliver]:
        early = self._early
        delivered: list[Deliver] = []
        while (waiting := early.pop(self._next, None)) is not None:
            count, piece = waiting
            if piece.offset != self.delivered or self.ended:
                raise BrokenStreamError
            self._next += count
            self.ended = piece.end
            if self._checker is not None:
                self._checker.learn(piece.payload, count)
            if piece.payload:
                self.delivered += len(piece.payload)
                delivered.append(Deliver(piece.offset, piece.payload))
        return delivered

    def consume(self, count: int) -> None:
        """The application has read `count` bytes. Raises ValueError beyond what was delivered."""
        if self.consumed + count > self.delivered:
            raise ValueError("more bytes consumed than were delivered")
        self.consumed += count

    def clear(self) -> None:
        """Let go of what is held."""
        self._early.clear()
