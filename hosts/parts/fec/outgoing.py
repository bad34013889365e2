"""A stream on its way out: cut into blocks, each block's source symbols once, and then as many new symbols of it as the
neediest receiver lacks (ours). One symbol repairs a different loss at each receiver. What a block's first repair takes
is work for a thread.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from hosts.endpoint import Compute
from hosts.parts.fec.block import PAYLOAD_ID_BYTES, BlockEncoder, symbol_bytes
from hosts.parts.fec.pieces import PAYLOAD, Piece, encode_piece
from hosts.parts.unsent import Unsent
from hosts.wire.short_hash import short_hash

BLOCK_SYMBOLS: Final = 256
"""Of a full block: a third of a second at 10 Mbit/s (ours)."""
MOST_EXPANSION: Final = 8
"""Distinct symbols of a block in source symbols; then they are sent again (ours). They are all in memory."""


@dataclass(slots=True)
class _Block:
    number: int
    offset: int
    encoder: BlockEncoder
    last: bool
    digest: bytes
    wanted: int = 0
    """Repair packets to send."""
    repairs: deque[int] = field(default_factory=deque)
    """Sequence numbers of the repair packets that were sent."""
    is_asked: bool = False
    """It was lacking before."""

    @property
    def is_due(self) -> bool:
        """A repair packet can leave."""
        return self.wanted > 0 and self.encoder.can_repair


class OutgoingBlocks:
    """Blocks that somebody still lacks, and the bytes that will be one."""

    def __init__(self, payload_bytes: int, most_open: int) -> None:
        """`payload_bytes`: of a DATA packet; `most_open`: blocks that somebody still lacks, at most."""
        self.open: dict[int, _Block] = {}
        self.made = 0
        """Blocks."""
        self.passed = 0
        """Blocks whose source symbols have all been sent."""
        self.all_made = False
        self.repair_packets = 0
        self._symbol = symbol_bytes(payload_bytes - PAYLOAD.size)
        self._block_bytes = BLOCK_SYMBOLS * self._symbol
        self._most_open = most_open
        self._unmade = Unsent()
        self._ends: list[int] = []  # stream offset of each block's end
        self._work: list[Compute] = []

    # --- in

    @property
    def space(self) -> int:
        """Bytes that `write` takes."""
        return 0 if self.all_made or len(self.open) >= self._most_open else self._block_bytes - len(self._unmade)

    def write(self, data: bytes | memoryview) -> None:
        """The stream goes on. ValueError for more than there is room for."""
        if len(data) > self.space:
            raise ValueError(f"write of {len(data)} bytes where send_space is {self.space}")
        self._unmade.add(data)
        if len(self._unmade) == self._block_bytes:
            self._make(last=False)

    def finish(self) -> None:
        """The stream ends."""
        if not self.all_made:
            self._make(last=True)

    def _make(self, *, last: bool) -> None:
        """What waits becomes a block; the last one has at least a byte, so that there is a last one."""
        length = len(self._unmade)
        data = self._unmade.take(length) or b"\0"
        offset = self.end_of(self.made)
        # An empty last block's byte is none of the stream's: its offset is the stream's end.
        self.open[self.made] = _Block(self.made, offset, BlockEncoder(data, self._symbol), last, short_hash(data))
        self.made += 1
        self._ends.append(offset + length)
        self.all_made = last

    # --- what is lacking

    def need(self, needs: tuple[tuple[int, int], ...], seen: int) -> None:
        """A receiver that has seen DATA up to `seen` lacks so many packets of these blocks."""
        for number, packets in needs:
            block = self.open.get(number)
            if block is None or number >= self.passed:
                continue
            while block.repairs and block.repairs[0] <= seen:
                block.repairs.popleft()
            # What it has not seen yet may be all that it needs.
            wanted = min(packets, block.encoder.source_symbols) - len(block.repairs)
            block.wanted = max(block.wanted, wanted)
            if block.wanted > 0 and not block.is_asked:
                block.is_asked = True
                self._work.append(Compute(block.encoder.prepare))

    def take_work(self) -> list[Compute]:
        """What has to be done before what is lacking can leave."""
        work, self._work = self._work, []
        return work

    def free(self, delivered: int) -> None:
        """Everybody has so many blocks."""
        for number in [number for number in self.open if number < delivered]:
            del self.open[number]

    # --- out

    @property
    def has_piece(self) -> bool:
        """Whether there is something to send."""
        return self.passed < self.made or any(block.is_due for block in self.open.values())

    def next_piece(self, seq: int) -> bytes:
        """The payload of DATA packet `seq`; without a symbol when there is nothing to send."""
        for block in self.open.values():
            if block.is_due:
                block.wanted -= 1
                block.repairs.append(seq)
                self.repair_packets += 1
                return self._piece(block)
            if block.number == self.passed:
                piece = self._piece(block)
                if block.encoder.sent == block.encoder.source_symbols:
                    self.passed += 1
                return piece
        return self.nothing()

    @property
    def has_all(self) -> bool:
        """Whether every block is kept: who has nothing can still get all."""
        return len(self.open) == self.made

    @property
    def piece_bytes(self) -> int:
        """Of each payload with a symbol."""
        return PAYLOAD.size + PAYLOAD_ID_BYTES + self._symbol

    def next_pieces(self, seq: int, most: int) -> bytes:
        """The payloads of DATA packets from `seq` on, as many as there is something to send, one after the other."""
        pieces: list[bytes] = []
        while most and self.has_piece:
            run = self._source_run(most)
            count = len(run) // self.piece_bytes or 1
            pieces.append(run or self.next_piece(seq))
            seq += count
            most -= count
        return b"".join(pieces)

    def _source_run(self, most: int) -> bytes:
        """Several source symbols that come next, none a block's last, which tells more; empty: there is none."""
        block = self.open.get(self.passed)
        if block is None or any(one.is_due for one in self.open.values()):
            return b""
        encoder = block.encoder
        count = min(most, encoder.source_symbols - encoder.sent - 1)
        if count < 2:
            return b""
        piece = Piece(block.number, self._length(block), block.last, self.passed, b"", 0, block.digest)
        return encoder.source_run(encode_piece(piece), count)

    def _length(self, block: _Block) -> int:
        """As packets tell it: an empty block has a byte that is none of the stream's."""
        return block.encoder.length if self._ends[block.number] > block.offset else 0

    def nothing(self) -> bytes:
        """A payload without a symbol."""
        return encode_piece(Piece(0, 0, False, self.passed, b""))

    def _piece(self, block: _Block) -> bytes:
        if block.encoder.sent >= MOST_EXPANSION * block.encoder.source_symbols:
            block.encoder.rewind()
        packet = block.encoder.next_packet()
        done = block.encoder.sent >= block.encoder.source_symbols and block.number == self.passed
        passed = self.passed + 1 if done else self.passed
        return encode_piece(
            Piece(block.number, self._length(block), block.last, passed, packet, block.wanted, block.digest)
        )

    # --- how far

    def end_of(self, blocks: int) -> int:
        """Bytes of the stream in so many blocks."""
        return self._ends[blocks - 1] if blocks else 0
