"""The disk beside the event loop: files are read ahead, and written behind, in threads of their own.

What waits between a thread and the loop is bounded. A disk that stands still holds up the session (a sender has nothing
to send, a receiver's buffer is not freed), but not the loop, which answers what the protocol is asked. While a disk
works, though slowly, as when it syncs many small files, the buffer is freed as it goes on: so a sender sees that it
does, and waits.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from hosts.application import FileSource, Sink, Source
from hosts.wire.manifest import FileError

AHEAD_BYTES: Final = 8 << 20
"""Of a source, read and not sent yet (ours: a disk that stands still for 50 ms at 1 Gbit/s)."""
BEHIND_BYTES: Final = 8 << 20
"""Of a sink, arrived and not written yet, before it counts against the receiver's buffer (ours, likewise); less where
the sink says so."""
TELL_S: Final = 0.1
"""Between two words of a slow disk on what it has written (ours: more would take turns with the loop)."""
LEAST_PIECE_BYTES: Final = 16 << 10
"""Written at once at least, if there is so much (ours: some packets)."""
PIECE_BYTES: Final = 256 << 10
"""Read at once, and written at once at most, unless more comes together (ours)."""


class Content(FileSource, Protocol):
    """A source that may begin behind its first bytes."""

    def begin(self, first: int) -> None:
        """Before anything is read: so many of the first bytes are not wanted."""


class ReadAhead:
    """A source that is read in a thread, from `start` on; before that it has nothing."""

    def __init__(self, source: Source, on_data: Callable[[], None]) -> None:
        """`on_data` is called in the thread when somebody who found nothing will find something, or the end."""
        self.source = source
        """What is read: another one may take its place before `start`."""
        self._on_data = on_data
        self._pieces: deque[bytes | memoryview] = deque()
        self._waiting = 0
        self._begin: Callable[[], Source] | None = None
        self._wanted = False
        self._ended = False
        self._closed = False
        self._failure: Exception | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def start(self, begin: Callable[[], Source] | None = None) -> None:
        """Begin to read. `begin` gives another source, in the thread, and may raise FileError."""
        self._begin = begin
        self._thread = threading.Thread(target=self._work, name="read ahead", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._waiting >= AHEAD_BYTES:  # until half of it is gone: to be woken for each piece costs the loop
                    self._changed.wait_for(lambda: self._waiting <= AHEAD_BYTES // 2 or self._closed)
                if self._closed:
                    return
            piece: bytes | memoryview = b""
            failure: Exception | None = None
            ended = False
            try:
                if self._begin is not None:
                    self.source, self._begin = self._begin(), None
                piece = self.source.read(PIECE_BYTES)
                ended = self.source.exhausted
            except Exception as error:  # the loop raises it again
                failure = error
            with self._changed:
                if piece:
                    self._pieces.append(memoryview(piece))
                    self._waiting += len(piece)
                self._failure = failure
                self._ended = ended
                wanted, self._wanted = self._wanted, False
            if wanted:
                self._on_data()
            if failure or ended:
                return

    def read(self, space: int) -> bytes | memoryview:
        """Up to `space` bytes of what is there. Raises FileError."""
        with self._changed:
            if not self._pieces:
                if self._failure is not None:
                    raise self._failure
                self._wanted = True
                return b""
            piece = self._pieces.popleft()
            if len(piece) > space:
                self._pieces.appendleft(piece[space:])
                piece = piece[:space]
            self._waiting -= len(piece)
            if self._waiting <= AHEAD_BYTES // 2:
                self._changed.notify()
            return piece

    @property
    def exhausted(self) -> bool:
        """Whether `read` has given everything."""
        with self._changed:
            return self._ended and not self._pieces

    def close(self) -> None:
        """Read no more; the source is no longer used when this returns."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()


class WriteBehind:
    """A sink that is written in a thread. Its methods are the loop's, but for `finish`, which takes its time."""

    def __init__(
        self, sink: Sink, on_change: Callable[[], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`on_change` is called in the thread when what waited has become less than was too much, by and by where that
        takes its time, or when the disk has failed. `clock`: seconds. A sink with the attribute `quick_bytes` writes no
        more than that of what comes next in a moment."""
        self.is_of_file = getattr(sink, "is_of_file", False)
        """See `Sink`."""
        self._failure: Exception | None = None
        self._sink = sink
        self._on_change = on_change
        self._pieces: deque[bytes | memoryview] = deque()
        self._waiting = 0
        self._closed = False
        self._was_full = False
        self._may_wait = self._quick_bytes
        self._clock = clock
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def _quick_bytes(self) -> int:
        return min(BEHIND_BYTES, getattr(self._sink, "quick_bytes", BEHIND_BYTES))

    @property
    def failure(self) -> FileError | None:
        """What the disk says. Anything else that the sink has raised is raised here."""
        failure = self._failure
        if failure is not None and not isinstance(failure, FileError):
            raise failure
        return failure

    @property
    def excess(self) -> int:
        """Bytes that wait beyond what may, and take the receiver's buffer; `on_change` tells when they do not."""
        with self._changed:
            excess = self._waiting - self._may_wait
            self._was_full = self._was_full or excess > 0
        return max(0, excess)

    def write(self, data: bytes) -> None:
        """Have this written soon. Raises FileError of what was given before."""
        with self._changed:
            if self._failure is not None:
                raise self._failure
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="write behind", daemon=True)
                self._thread.start()
            self._pieces.append(data)
            self._waiting += len(data)
            if len(self._pieces) == 1:
                self._changed.notify()

    def finish(self) -> object:
        """Wait until all is written, and finish the sink. Raises FileError."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting or self._failure is not None)
            if self._failure is not None:
                raise self._failure
        return self._sink.finish()

    def close(self) -> None:
        """Write no more; the sink is no longer used when this returns."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        told_at = self._clock()
        while (data := self._next()) is not None:
            failure: Exception | None = None
            try:
                self._sink.write(data)
            except Exception as error:  # the loop raises it again
                failure = error
            now, may_wait = self._clock(), self._quick_bytes
            with self._changed:
                self._waiting -= len(data)
                self._failure = failure
                self._may_wait = may_wait
                has_room = self._was_full and self._waiting <= may_wait // 2
                tells = has_room or failure is not None or (self._was_full and now >= told_at + TELL_S)
                self._was_full = self._was_full and not has_room
                if failure is not None or not self._waiting:
                    self._changed.notify_all()
            if tells:
                told_at = now
                self._on_change()
            if failure is not None:
                return

    def _next(self) -> bytes | None:
        """What is to be written next; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._closed)
            if self._closed:
                return None
            most = max(self._may_wait, LEAST_PIECE_BYTES)
            taken = [self._pieces.popleft()]
            size = len(taken[0])
            if size > most:
                self._pieces.appendleft(memoryview(taken[0])[most:])
                return bytes(taken[0][:most])
            while self._pieces and size + len(self._pieces[0]) <= min(PIECE_BYTES, most):
                taken.append(self._pieces.popleft())
                size += len(taken[-1])
        return bytes(taken[0]) if len(taken) == 1 else b"".join(taken)
