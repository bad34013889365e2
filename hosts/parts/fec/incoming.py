"""A stream as it comes in: symbols are collected until a block is whole, and blocks are handed over in order (ours).

Packets say how long their block is and what hash it has. Those that say the same are put together, so that one of a
stranger's stands alone; and a block with another hash than was said is collected anew. What RaptorQ has to make whole
is work for a thread, block by block.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from hosts.endpoint import Compute, Deliver, Effect, StreamEnded
from hosts.parts.fec.block import BlockDecoder, symbol_bytes
from hosts.parts.fec.pieces import PAYLOAD, Piece
from hosts.wire.short_hash import short_hash

MOST_CLAIMS: Final = 3
"""Of what a block is, that are followed at once; the one with the fewest packets goes first (ours)."""


class _Claim(NamedTuple):
    """What packets say of a block."""

    length: int
    last: bool
    digest: bytes


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
        self._decoders: dict[int, dict[_Claim, BlockDecoder]] = {}
        self._work: list[Compute] = []
        self._solving: list[tuple[int, _Claim, BlockDecoder]] = []
        self.wrong = 0
        """Blocks that had to be collected anew."""
        self._ends: deque[int] = deque()  # stream offsets of blocks that the application has not consumed
        self._consumed = 0

    def take(self, piece: Piece) -> None:
        """A packet's. ValueError: it can be no sender's."""
        self._take(piece, lambda decoder: decoder.add(piece.packet))

    def take_run(self, piece: Piece, payloads: bytes, size: int) -> None:
        """Of packets whose payloads of `size` bytes say the same as the first one's piece, of symbols that follow each
        other. ValueError likewise."""
        self._take(piece, lambda decoder: decoder.add_run(payloads, size, PAYLOAD.size))

    def _take(self, piece: Piece, add: Callable[[BlockDecoder], object]) -> None:
        self.passed = max(self.passed, piece.passed)
        block, length = piece.block, piece.length
        if not piece.packet or not self.next <= block < self.next + self._most_open:
            return
        claims = self._decoders.setdefault(block, {})
        claim = _Claim(length, piece.last, piece.digest)
        decoder = claims.get(claim)
        if decoder is None:
            decoder = BlockDecoder(max(length, 1), self._symbol)
            if len(claims) == MOST_CLAIMS:
                del claims[max(claims, key=lambda one: claims[one].needed)]
            claims[claim] = decoder
        before = decoder.data
        add(decoder)
        if decoder.data is not before:
            self._check(block, claim, decoder)
        self._begin_to_solve(block, claim, decoder)

    def _check(self, block: int, claim: _Claim, decoder: BlockDecoder) -> None:
        """A block that is whole: it may be none of the sender's."""
        if decoder.data is not None and short_hash(decoder.data) != claim.digest:
            self.wrong += 1
            self._decoders[block].pop(claim, None)

    def _begin_to_solve(self, block: int, claim: _Claim, decoder: BlockDecoder) -> None:
        if decoder.is_solvable:
            self._work.append(Compute(decoder.begin()))
            self._solving.append((block, claim, decoder))

    def take_work(self) -> list[Compute]:
        """What has to be done before more is whole; `settle` when it is."""
        work, self._work = self._work, []
        return work

    def settle(self) -> None:
        """Some of the work has been done."""
        for one in list(self._solving):
            block, claim, decoder = one
            if not decoder.settle():
                continue
            self._solving.remove(one)
            if block in self._decoders:  # else another claim was the sender's
                self._check(block, claim, decoder)
                self._begin_to_solve(block, claim, decoder)

    def deliver(self, effects: list[Effect]) -> bool:
        """Hand over what is whole; whether there was something."""
        before = self.next
        while (whole := self._whole(self.next)) is not None:
            del self._decoders[self.next]
            claim, data = whole
            if claim.length:  # the one byte of an empty block is none of the stream's
                effects.append(Deliver(self.delivered_bytes, data))
            self.delivered_bytes += claim.length
            self._ends.append(self.delivered_bytes)
            if claim.last:
                effects.append(StreamEnded(self.delivered_bytes))
            self.next += 1
        return self.next > before

    def _whole(self, block: int) -> tuple[_Claim, bytes] | None:
        """A block that is all there, and what it is."""
        for claim, decoder in self._decoders.get(block, {}).items():
            if decoder.data is not None:
                return claim, decoder.data
        return None

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
            needed = min((decoder.needed for decoder in self._decoders.get(block, {}).values()), default=0xFFFF)
            if needed:
                found.append((block, needed))
        return found
