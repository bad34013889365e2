"""What a program reads from a pipe whose writer may be slow: in a thread of its own, ahead of a bounded queue."""

import io
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

QUEUE_BYTES: Final = 256 * 1024
"""Input that waits; more than that, and its program waits too, as at any full pipe (ours)."""
PIECE_BYTES: Final = 64 * 1024


class InputSource:
    """Reads an input in a thread of its own, for it may be a pipe that has nothing yet. A `Source`."""

    def __init__(self, stream: io.RawIOBase, on_data: Callable[[], None]) -> None:
        """`stream` gives what it has now, as a pipe does; `on_data` is called in the thread when there is something to
        read, or the end."""
        self._stream = stream
        self._on_data = on_data
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._ended = False
        self._room = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="input", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def _work(self) -> None:
        while True:
            with self._room:
                self._room.wait_for(lambda: self._waiting < QUEUE_BYTES or self._ended)
                if self._ended:
                    return
            try:
                piece = self._stream.read(PIECE_BYTES)
            except (OSError, ValueError):
                piece = b""
            with self._room:
                if piece:
                    self._pieces.append(piece)
                    self._waiting += len(piece)
                else:
                    self._ended = True
            self._on_data()
            if not piece:
                return

    def read(self, space: int) -> bytes:
        """Up to `space` bytes of what there is."""
        with self._room:
            if not self._pieces:
                return b""
            piece = self._pieces.popleft()
            if len(piece) > space:
                self._pieces.appendleft(piece[space:])
                piece = piece[:space]
            self._waiting -= len(piece)
            self._room.notify()
            return piece

    @property
    def exhausted(self) -> bool:
        """Whether the input has ended, and everything was read."""
        with self._room:
            return self._ended and not self._pieces

    def close(self) -> None:
        """Read no more."""
        with self._room:
            self._ended = True
            self._pieces.clear()
            self._room.notify()
