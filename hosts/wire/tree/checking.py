"""What a receiver takes of a stream that has its hashes in it (layout.py): nothing that contradicts them.

Until the root has come nothing can be checked. What is taken unchecked is bounded, and so is what hashes are kept of.
"""

import hashlib
from collections import deque
from typing import Final

from canopy_engine import short_hashes

from hosts.wire.short_hash import HASH_BYTES, short_hash
from hosts.wire.tree.layout import ROOT, TreeLayout

UNCHECKED_PACKETS: Final = 64
"""From the stream's beginning on: what may be under way before the root and the first tables have come (ours)."""


class TreeChecker:
    """One stream, whose packets count from 0. One without a tree, or that is heard from its middle on, goes unchecked.

    `learn` is told of what is delivered, in order, and `strip` takes the tree out of it for the application.
    """

    def __init__(self) -> None:
        self.layout: TreeLayout | None = None
        self.is_off = False
        """There is nothing to check by."""
        self._pinned: bytes | None = None
        self._unchecked = UNCHECKED_PACKETS
        self._open = UNCHECKED_PACKETS  # packets of the stream that may come so far
        self._hashes: dict[int, bytes] = {}
        """Of tables, by their places."""
        self._blocks: deque[tuple[int, int, bytes]] = deque()
        """Of content, in order: from which packet on and up to which, with their hashes."""
        self._learnt = 0
        """Packets."""
        self._block = -1
        """Whose tables or content come next."""
        self._due: deque[tuple[int, int]] = deque()
        """Tables before it: level and index."""
        self._next_block_at = 1
        self._stripped_block = -1
        """Which the application has come to."""
        self._stripped = (0, 0)
        """From which packet on its content lies, and up to which."""

    @property
    def lets_all_pass(self) -> bool:
        """There is nothing to check by, and nobody has said that there would be."""
        return self.is_off and self._pinned is None

    def pin(self, root: bytes) -> None:
        """Only a packet with this SHA-256 is the root, told before any has come; and nothing is taken unchecked."""
        self._pinned = root
        self._unchecked = 0

    def takes(self, number: int, payload: bytes, *, end: bool) -> bool:
        """Whether packet `number` may be the stream's."""
        layout = self.layout
        if self.is_off:
            return self.lets_all_pass
        if layout is None:
            if self._pinned is not None:
                return number == 0 and hashlib.sha256(payload).digest() == self._pinned
            return number == 0 or (number < UNCHECKED_PACKETS and not end)
        is_last = number == layout.packets - 1
        if end != is_last or len(payload) != (layout.last_bytes if is_last else layout.packet_bytes):
            return False
        known = self._known(number, number + 1)
        return number < self._unchecked if known is None else short_hash(payload) == known

    def takes_run(self, number: int, payload: bytes, count: int) -> bool:
        """Whether `count` packets of one size may be, from `number` on, none of them the stream's end."""
        if self.is_off:
            return self.lets_all_pass
        layout, size, after = self.layout, len(payload) // count, number + count
        if layout is None:
            return after <= self._unchecked
        if size != layout.packet_bytes or after >= layout.packets:
            return False
        hashes = short_hashes(payload, size)
        one = number
        while one < after:
            known = self._known(one, after)
            if known is not None:
                at = (one - number) * HASH_BYTES
                if hashes[at : at + len(known)] != known:
                    return False
                one += len(known) // HASH_BYTES
            elif one < self._unchecked:
                one += 1
            else:
                return False
        return True

    def _known(self, number: int, after: int) -> bytes | None:
        """The hashes of packet `number`, and of those before `after` that follow it in the same block's content."""
        for first, end, table in self._blocks:
            if number < first:
                break
            if number < end:
                return table[(number - first) * HASH_BYTES : (min(after, end) - first) * HASH_BYTES]
        return self._hashes.get(number)

    @property
    def open_bytes(self) -> int | None:
        """Up to where in the stream packets are taken so far; None: there is no such bound, or it is not known."""
        layout = self.layout
        if self.is_off or layout is None or self._open >= layout.packets:
            return None
        return self._open * layout.packet_bytes

    # --- what has come

    def learn(self, payload: bytes, count: int = 1) -> None:
        """The next `count` packets of the stream, all of one size."""
        if self.is_off:
            return
        first, after = self._learnt, self._learnt + count
        if first and not self._due and after < self._next_block_at:  # of the content, as nearly all are
            self._learnt = after
            return
        size = len(payload) // count
        while self._learnt < after:
            number = self._learnt
            at = (number - first) * size
            if number == 0:
                self._take_root(payload[:size])
                self._learnt += 1
            elif self._due:
                self._take_table(number, payload[at : at + size])
                self._hashes.pop(number, None)
                self._learnt += 1
            else:  # content up to the next block, or what lies beyond the end and was taken unchecked
                self._learnt = min(after, self._next_block_at) if number < self._next_block_at else after
            if self.is_off or self.layout is None:
                return
            while self._blocks and self._blocks[0][1] <= self._learnt:
                self._blocks.popleft()
            if self._learnt == self._next_block_at:
                self._block += 1
                self._due.extend(self.layout.before(self._block))
                self._next_block_at = self.layout.begins_at(self._block + 1)

    def _take_root(self, packet: bytes) -> None:
        try:
            self.layout = TreeLayout.read(packet)
        except ValueError:
            self.layout = None
        if self.layout is None:
            self.is_off = True
            return
        self._take_hashes(self.layout.levels, 0, self.layout.counts[-1], packet[ROOT.size :])

    def _take_table(self, number: int, packet: bytes) -> None:
        layout = self.layout
        assert layout is not None
        level, index = self._due.popleft()
        if short_hash(packet) != self._hashes.get(number):  # one that had to be taken unchecked
            self.is_off = True
            return
        first = index * layout.hashes
        self._take_hashes(level - 1, first, min(layout.hashes, layout.counts[level - 1] - first), packet)
        if level == 1:
            self._opened(layout.packets if index + 1 == layout.counts[1] else layout.begins_at(index + 1))

    def _take_hashes(self, level: int, first: int, count: int, table: bytes) -> None:
        """Of so many packets of the content, or tables of a level."""
        layout = self.layout
        assert layout is not None
        if level == 0:  # of packets that follow each other
            start = layout.place(0, first)
            length = count * HASH_BYTES
            self._blocks.append((start, start + count, table[:length].ljust(length, b"\0")))
        else:
            for number in range(count):
                place = layout.place(level, first + number)
                self._hashes[place] = table[number * HASH_BYTES : (number + 1) * HASH_BYTES]
        if first == 0 and level <= 1:
            self._opened(layout.content_at(0) if level else layout.begins_at(1))

    def _opened(self, packets: int) -> None:
        self._open = max(self._open, packets)

    # --- what the application has of it

    def strip(self, offset: int, data: bytes) -> bytes:
        """What was delivered from there on, without the tree."""
        layout = self.layout
        if layout is None:
            return data
        size = layout.packet_bytes
        begins, ends = self._stripped
        if begins <= offset // size and len(data) <= (ends - offset // size) * size:  # content, as nearly all is
            return data
        kept: list[bytes | memoryview] = []
        rest = memoryview(data)
        while rest:
            number = offset // size
            while number >= self._stripped[1]:
                block = self._stripped_block = self._stripped_block + 1
                self._stripped = layout.content_at(block), layout.begins_at(block + 1)
            begins, ends = self._stripped
            length = min(len(rest), ((ends if number >= begins else begins) - number) * size)
            if number >= begins:
                if length == len(data):
                    return data
                kept.append(rest[:length])
            offset, rest = offset + length, rest[length:]
        return b"".join(kept)
