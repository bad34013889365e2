"""What a program writes to a pipe whose reader may be slow: in a thread of its own, behind a queue that is bounded.

Real-time data that have waited for too long are of no use to the reader, and are dropped, the oldest first. What waits
when the stream ends is written, however long that takes.
"""

import asyncio
import contextlib
import io
import os
import select
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

QUEUE_BYTES: Final = 1 << 24
"""What may wait, whatever its age: a second at 134 Mbit/s (ours)."""
WRITE_BYTES: Final = 64 * 1024
"""What is written at once, unless one piece is larger: what an empty pipe has room for (pipe(7))."""


class Dropped(NamedTuple):
    """What the reader did not take in time."""

    packets: int
    bytes: int


def is_file(stream: io.FileIO) -> bool:
    """Whether what is written is kept: then nothing of it ever is too old."""
    return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)


class Output:
    """Writes what it is given, in order. Its methods are the event loop's, but for the thread's own."""

    def __init__(self, stream: io.FileIO, patience: float, on_failure: Callable[[], None]) -> None:
        """`patience`: how long a piece may wait for the reader, seconds. `on_failure` is called in the loop when
        writing has failed; `failure` says how. To be made in a running event loop."""
        self.failure: OSError | None = None
        self._stream = stream
        self._patience = patience
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._drained = asyncio.Event()
        self._pieces: deque[tuple[float, bytes]] = deque()  # and when each was put in
        self._waiting = 0
        self._dropped = Dropped(0, 0)
        self._ending = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="output", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, pieces: Sequence[bytes]) -> None:
        """Have these written soon. What there is no room for any more is dropped; after a failure all is."""
        now = time.monotonic()
        with self._changed:
            for piece in pieces:
                self._pieces.append((now, piece))
                self._waiting += len(piece)
            while self._pieces and (self._waiting > QUEUE_BYTES or self.failure is not None):
                self._drop()
            self._drop_old(now)
            self._changed.notify()

    async def finish(self) -> None:
        """Everything has been put in: write it. Ends when that is done, or has failed."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        await self._drained.wait()

    def give_up(self) -> None:
        """Write no more than what the reader is being given now, and wait for nobody."""
        with self._changed:
            self._ending = True
            while self._pieces:
                self._drop()
            self._changed.notify()

    def take_dropped(self) -> Dropped:
        """What has been dropped since this was asked last."""
        with self._changed:
            dropped, self._dropped = self._dropped, Dropped(0, 0)
            return dropped

    # --- with the condition held

    def _drop(self) -> None:
        _, piece = self._pieces.popleft()
        self._waiting -= len(piece)
        self._dropped = Dropped(self._dropped.packets + 1, self._dropped.bytes + len(piece))

    def _drop_old(self, now: float) -> None:
        while self._pieces and self._pieces[0][0] < now - self._patience and not self._ending:
            self._drop()

    # --- in the thread

    def _work(self) -> None:
        try:
            while (data := self._next()) is not None:
                self._write(data)
        except (OSError, ValueError) as error:  # ValueError: closed meanwhile
            with self._changed:
                self.failure = error if isinstance(error, OSError) else OSError(str(error))
                while self._pieces:
                    self._drop()
            self._tell(self._on_failure)
        self._tell(self._drained.set)

    def _next(self) -> bytes | None:
        """What is to be written next; None at the end."""
        with self._changed:
            self._drop_old(time.monotonic())
            while not self._pieces and not self._ending:
                self._changed.wait()  # what is put in is not old
            if not self._pieces:
                return None
            taken: list[bytes] = []
            size = 0
            while self._pieces and (not taken or size + len(self._pieces[0][1]) <= WRITE_BYTES):
                taken.append(self._pieces.popleft()[1])
                size += len(taken[-1])
            self._waiting -= size
            return b"".join(taken)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            count = self._stream.write(rest)
            if count is None:  # whoever made the pipe wants nobody to wait in it
                poll = select.poll()
                poll.register(self._stream, select.POLLOUT)
                poll.poll()
            else:
                rest = rest[count:]

    def _tell(self, action: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is over: nobody listens any more
            self._loop.call_soon_threadsafe(action)
