"""What an application has written and no packet has carried yet: pieces as they were written, not copied until they
leave. (One buffer that is filled behind and emptied in front moves all that waits, again and again.)"""

from collections import deque


class Unsent:
    """Bytes in order."""

    __slots__ = ("_first", "_length", "_pieces")

    def __init__(self) -> None:
        self._pieces: deque[bytes | memoryview] = deque()
        self._first = 0  # bytes of the first piece that have left
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, data: bytes | memoryview) -> None:
        """Behind what waits. It must not change any more."""
        if data:
            self._pieces.append(data)
            self._length += len(data)

    def take(self, size: int) -> bytes:
        """The first `size` bytes; less when there are no more."""
        pieces, left = self._pieces, size
        taken: list[bytes | memoryview] = []
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
