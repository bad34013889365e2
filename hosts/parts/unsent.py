"""What an application has written and no packet has carried yet: pieces as they were written, not copied until they
leave. (One buffer that is filled behind and emptied in front moves all that waits, again and again.) Small ones are put
together, so that they take no more memory than their bytes."""

from collections import deque
from typing import Final

SMALL: Final = 4096
"""Bytes: copying fewer costs no more than keeping a piece does (ours)."""
TOGETHER: Final = 1 << 16
"""Bytes of small pieces that become one (ours)."""


class Unsent:
    """Bytes in order."""

    __slots__ = ("_first", "_length", "_pieces")

    def __init__(self) -> None:
        self._pieces: deque[bytes | bytearray | memoryview] = deque()
        self._first = 0  # bytes of the first piece that have left
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, data: bytes | memoryview) -> None:
        """Behind what waits. It must not change any more."""
        if not data:
            return
        self._length += len(data)
        if len(data) >= SMALL:
            self._pieces.append(data)
            return
        last = self._pieces[-1] if self._pieces else None
        if last is None:  # it may leave as it is before another comes
            self._pieces.append(data)
        elif isinstance(last, bytearray) and len(last) < TOGETHER:
            last += data
        else:
            self._pieces.append(bytearray(data))

    def take(self, size: int) -> bytes:
        """The first `size` bytes; less when there are no more."""
        pieces, left = self._pieces, size
        if pieces and not self._first and len(pieces[0]) == size:
            self._length -= size
            return bytes(pieces.popleft())
        taken: list[bytes | bytearray | memoryview] = []
        while left and pieces:
            piece = pieces[0][self._first : self._first + left]
            taken.append(piece)
            left -= len(piece)
            self._first += len(piece)
            if self._first == len(pieces[0]):
                pieces.popleft()
                self._first = 0
        self._length -= size - left
        return b"".join(taken)

    def clear(self) -> None:
        """Nothing waits any more."""
        self._pieces.clear()
        self._first = self._length = 0
