"""A stream as it comes in: symbols are collected until a block is whole, and blocks are handed over in order (ours)."""

from collections import deque

from hosts.endpoint import Deliver, Effect, StreamEnded
from hosts.parts.fec.block import BlockDecoder, symbol_bytes
from hosts.parts.fec.pieces import PAYLOAD, Piece


class IncomingBlocks:
    """Blocks that are not delivered yet."""

    def __init__(self, payload_bytes: int, most_open: int) -> None:
        """`payload_bytes`: of a DATA packet; `most_open`: blocks that are kept at most."""
        self.delivered_bytes = 0
        self.next = 0
        """Block to be delivered next."""
        self.passed = 0
        """Blocks that should be there."""
        self.free = 0
        """Blocks that the application has consumed."""
        self._symbol = symbol_bytes(payload_bytes - PAYLOAD.size)
        self._most_open = most_open
        self._decoders: dict[int, BlockDecoder] = {}
        self._last: int | None = None
        self._empty_last: int | None = None  # the last block, when its one byte is none of the stream's
        self._ends: deque[int] = deque()  # stream offsets of blocks that the application has not consumed
        self._consumed = 0

    def take(self, piece: Piece) -> None:
        """A packet's. ValueError: it can be no sender's."""
        self.passed = max(self.passed, piece.passed)
        block, length = piece.block, piece.length
        if not piece.packet or not self.next <= block < self.next + self._most_open:
            return
        if piece.last:
            self._last = block
            if length == 0:
                self._empty_last = block
        decoder = self._decoders.get(block)
        if decoder is None:
            decoder = self._decoders[block] = BlockDecoder(max(length, 1), self._symbol)
        decoder.add(piece.packet)

    def deliver(self, effects: list[Effect]) -> bool:
        """Hand over what is whole; whether there was something."""
        before = self.next
        while (decoder := self._decoders.get(self.next)) is not None and decoder.data is not None:
            del self._decoders[self.next]
            length = 0 if self._empty_last == self.next else len(decoder.data)
            if length:
                effects.append(Deliver(self.delivered_bytes, decoder.data))
            self.delivered_bytes += length
            self._ends.append(self.delivered_bytes)
            if self.next == self._last:
                effects.append(StreamEnded(self.delivered_bytes))
            self.next += 1
        return self.next > before

    def consumed(self, count: int) -> None:
        """The application is through with so many more bytes."""
        self._consumed += count
        while self._ends and self._ends[0] <= self._consumed:
            self._ends.popleft()
            self.free += 1

    def needs(self) -> list[tuple[int, int]]:
        """Incomplete blocks that should be there, and how many packets each needs; 65,535: as many as it has."""
        found = []
        for block in range(self.next, min(self.passed, self.next + self._most_open)):
            decoder = self._decoders.get(block)
            needed = 0xFFFF if decoder is None else decoder.needed
            if needed:
                found.append((block, needed))
        return found
