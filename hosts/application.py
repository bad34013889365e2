"""An endpoint's application, without I/O: feeds a sender from a source, hands what a receiver delivers to a sink, and
answers the end of the stream. Both runtimes use it; what is left to do on the network is returned to them.

An application may be slow: with `read_rate_bps` what was delivered waits, and takes the receiver's buffer, until it is
read. That is what flow control is for.
"""

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol, TypeAlias, runtime_checkable

from hosts.endpoint import (
    Compute,
    Deliver,
    DeliverDatagram,
    Effect,
    Endpoint,
    Event,
    JoinGroup,
    KeepFile,
    LeaveGroup,
    Offered,
    ReceiverEndpoint,
    Send,
    SenderEndpoint,
    SendRun,
    StreamEnded,
)
from hosts.storage import Library
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason
from hosts.wire.tree.checking import TreeChecker
from hosts.wire.tree.growing import GrownSource, layout_for
from hosts.wire.tree.layout import LEAST_PACKET_BYTES

NetworkEffect: TypeAlias = Send | SendRun | JoinGroup | LeaveGroup


class Source(Protocol):
    """What a sender sends."""

    def read(self, space: int) -> bytes | memoryview:
        """Up to `space` bytes; empty at the end, and when there is nothing yet. Raises FileError."""

    @property
    def exhausted(self) -> bool:
        """Whether `read` has given everything."""


@runtime_checkable
class FileSource(Source, Protocol):
    """One that can be read twice, so that hashes of it can be sent ahead, where the protocol checks by them."""

    def read(self, space: int) -> bytes:
        """As a source's."""

    def rewind(self) -> None:
        """Begin again. Raises FileError."""


class Sink(Protocol):
    """Where a receiver's bytes go. Both raise FileError with the reason for the sender. One with the attribute
    `is_of_file` takes what a `FileSource` gives."""

    def write(self, data: bytes) -> None:
        """Take the next bytes."""

    def finish(self) -> object:
        """The stream has ended. It may take its time, as syncing a large file to disk does."""


class Behind(Protocol):
    """A sink that takes what it is given later."""

    @property
    def excess(self) -> int:
        """Bytes that wait beyond what may: they still take the receiver's buffer."""

    @property
    def failure(self) -> FileError | None:
        """Why it takes no more."""


def with_hashes(
    source: FileSource, checked: tuple[int, int] | None, going: Callable[[], bool] = lambda: True
) -> Source:
    """The source as it is sent where packets are checked (`SenderEndpoint.checked_bytes`): with hashes, for which it is
    read once, which takes about a second for each GB, while `going`. Raises FileError."""
    if checked is None or checked[0] < LEAST_PACKET_BYTES:
        return source
    return GrownSource(source, *checked, going)


def stream_bytes(source_bytes: int, checked: tuple[int, int] | None) -> int:
    """Of a source of so many bytes as `with_hashes` sends it."""
    if checked is None or checked[0] < LEAST_PACKET_BYTES:
        return source_bytes
    return layout_for(source_bytes, *checked).stream_bytes


class Application:
    """One endpoint's. `now` is always on the endpoint's clock, seconds."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        source: Source | Library | None = None,
        sink: Sink | None = None,
        take: Callable[[DeliverDatagram], None] = lambda datagram: None,
        read_rate_bps: float | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
        finish: Callable[[Sink], None] | None = None,
        prepare: Callable[[bytes], None] | None = None,
        compute: Callable[[Compute], None] | None = None,
        behind: Behind | None = None,
    ) -> None:
        """`take` gets what a real-time session delivers. `read_rate_bps`: how fast it reads, bit/s; None: at once.
        `finish` has the sink finish elsewhere, as in a thread, and `finished` takes what came of it; None: here and
        now. `prepare` finds out elsewhere what of an offer is here, and `prepared` takes it; None: nothing is.
        `compute` does what takes its time elsewhere, and `computed` is to be called then; None: here and now.
        `behind`: the sink, when it is one that takes things later; `settle` is to be called when it has changed.
        Raises FileError."""
        self.endpoint = endpoint
        self.error: FileError | None = None
        """What went wrong with the file, if anything did."""
        self.is_hungry = False
        """Whether a sender has room for more than `feed` was to give it."""
        self._sender = endpoint if isinstance(endpoint, SenderEndpoint) else None
        self._receiver = endpoint if isinstance(endpoint, ReceiverEndpoint) else None
        self._checker: TreeChecker | None = None
        if self._sender is not None and isinstance(source, FileSource):
            source = with_hashes(source, self._sender.checked_bytes)
        if self._receiver is not None and getattr(sink, "is_of_file", False):
            self._checker = TreeChecker()
            self._receiver.check_by(self._checker)
        self._library = source if isinstance(source, Library) else None
        self._source = None if isinstance(source, Library) else source
        self._sink = sink
        self._take = take
        self._read_rate_bps = read_rate_bps
        self._unread: deque[Deliver | StreamEnded] = deque()
        self._read_at: float | None = None
        self._on_event = on_event
        self._finish = finish
        self._prepare = prepare
        self._compute = compute
        self._behind = behind
        self._owed = 0  # bytes that were delivered and still take the receiver's buffer

    def carry_out(self, effects: Sequence[Effect], now: float) -> list[NetworkEffect]:
        """Carry out what is not for the network, with what that leads to; the rest comes back in order."""
        left: list[NetworkEffect] = []
        if not effects:
            return left
        queue = list(effects)
        reads_slowly = self._read_rate_bps is not None
        while queue:
            delivered = 0
            for effect in queue:  # which grows meanwhile
                kind = type(effect)
                if kind is Send or kind is SendRun or kind is JoinGroup or kind is LeaveGroup:
                    left.append(effect)  # type: ignore[arg-type]
                elif reads_slowly and (kind is Deliver or kind is StreamEnded):
                    self._postpone(effect, now)  # type: ignore[arg-type]
                elif kind is Deliver:
                    delivered += len(effect.data)  # type: ignore[union-attr]
                    queue += self._deliver(effect, now)  # type: ignore[arg-type]
                elif kind is DeliverDatagram:
                    self._take(effect)  # type: ignore[arg-type]
                elif kind is KeepFile:
                    queue += self._keep(effect, now)  # type: ignore[arg-type]
                elif kind is Compute:
                    queue += self._work(effect, now)  # type: ignore[arg-type]
                else:
                    queue += self._event(effect, now)  # type: ignore[arg-type]
            queue = list(self._consumed(delivered, now)) if delivered else []
        return left

    def feed(self, now: float, most: float = inf) -> list[NetworkEffect]:
        """Give a sender what it has room for, `most` bytes or somewhat more; to be called after its inputs, and when it
        `is_hungry`."""
        endpoint, source = self._sender, self._source
        left: list[NetworkEffect] = []
        self.is_hungry = False
        if endpoint is not None and self._library is not None:
            try:
                change = self._library.take()
            except FileError as error:
                return self.carry_out(self._failed(error, now), now)
            return [] if change is None else self.carry_out(endpoint.change(change, now=now), now)
        if source is None or endpoint is None:
            return left
        while (space := endpoint.send_space) and not endpoint.closed:
            if most <= 0:
                self.is_hungry = True
                break
            try:
                data = source.read(space)
            except FileError as error:
                left += self.carry_out(self._failed(error, now), now)
                break
            if data:
                most -= len(data)
                left += self.carry_out(endpoint.write(data, now=now), now)
            if source.exhausted:
                self._source = None
                left += self.carry_out(endpoint.finish(now=now), now)
                break
            if not data:
                break
        return left

    @property
    def read_at(self) -> float | None:
        """When a slow application reads next; None: it waits for nothing but the network."""
        return None if self._read_at is None or self.endpoint.closed else self._read_at

    def read(self, now: float) -> list[NetworkEffect]:
        """Have a slow application read what it has had the time for."""
        left: list[NetworkEffect] = []
        while (at := self.read_at) is not None and at <= now:
            item = self._unread.popleft()
            self._read_at = at + self._reading_time(self._unread[0]) if self._unread else None
            if isinstance(item, StreamEnded):
                left += self.carry_out(self._event(item, now), now)
            else:
                left += self.carry_out(self._deliver(item, now), now)
                left += self.carry_out(self._consumed(len(item.data), now), now)
        return left

    def finished(self, problem: FileError | None, now: float) -> list[NetworkEffect]:
        """What came of a sink that finished elsewhere."""
        return self.carry_out(self._verdict(problem, now), now)

    def computed(self, now: float) -> list[NetworkEffect]:
        """What was to be done elsewhere has been done."""
        return [] if self.endpoint.closed else self.carry_out(self.endpoint.computed(now=now), now)

    def prepared(self, size: int, problem: FileError | None, now: float) -> list[NetworkEffect]:
        """What came of an offer: so many of its first bytes are here."""
        if self._receiver is None or self.endpoint.closed:
            return []
        if problem is not None:
            self.error = problem
            return self.carry_out(self.endpoint.close(now=now, reason=str(problem)), now)
        return self.carry_out(self._receiver.holds(size, now=now), now)

    def settle(self, now: float) -> list[NetworkEffect]:
        """A sink that takes things later has taken some, or has failed."""
        behind = self._behind
        if behind is None or self.endpoint.closed:
            return []
        if behind.failure is not None and self.error is None:
            return self.carry_out(self._failed(behind.failure, now), now)
        return self.carry_out(self._consumed(0, now), now)

    def _postpone(self, item: Deliver | StreamEnded, now: float) -> None:
        self._unread.append(item)
        if self._read_at is None:
            self._read_at = now + self._reading_time(item)

    def _reading_time(self, item: Deliver | StreamEnded) -> float:
        if isinstance(item, StreamEnded) or self._read_rate_bps is None:
            return 0.0
        return len(item.data) * 8 / self._read_rate_bps

    def _deliver(self, effect: Deliver, now: float) -> Sequence[Effect]:
        if self._sink is None or self.error is not None:
            return ()
        data = effect.data if self._checker is None else self._checker.strip(effect.offset, effect.data)
        try:
            self._sink.write(data)
        except FileError as error:
            return self._failed(error, now)
        return ()

    def _keep(self, effect: KeepFile, now: float) -> Sequence[Effect]:
        try:
            effect.room.keep(effect.manifest, effect.pieces)
        except FileError as error:
            return self._failed(error, now)
        return ()

    def _work(self, effect: Compute, now: float) -> Sequence[Effect]:
        if self._compute is not None:
            self._compute(effect)
            return ()
        effect.work()
        return self.endpoint.computed(now=now)

    def _consumed(self, count: int, now: float) -> Sequence[Effect]:
        assert self._receiver is not None
        if self._behind is None:
            return self._receiver.consumed(count, now=now)
        self._owed += count
        free = self._owed - (0 if self.error else self._behind.excess)
        if free <= 0:
            return ()
        self._owed -= free
        return self._receiver.consumed(free, now=now)

    def _failed(self, error: FileError, now: float) -> Sequence[Effect]:
        self.error = error
        if self._receiver is not None:
            return self._receiver.confirm(complete=False, now=now, reason=error.reason)
        return self.endpoint.close(now=now, reason=str(error))

    def _event(self, event: Event, now: float) -> Sequence[Effect]:
        effects: Sequence[Effect] = ()
        if isinstance(event, StreamEnded) and self._receiver is not None and self.error is None:
            effects = self._end_of_stream(now)
        elif isinstance(event, Offered) and self._receiver is not None:
            if self._prepare is None:
                effects = self._receiver.holds(0, now=now)
            else:
                self._prepare(event.content)
        self._on_event(event)
        return effects

    def _end_of_stream(self, now: float) -> Sequence[Effect]:
        if self._sink is not None:
            if self._finish is not None:
                self._finish(self._sink)
                return ()
            try:
                self._sink.finish()
            except FileError as error:
                return self._verdict(error, now)
        return self._verdict(None, now)

    def _verdict(self, problem: FileError | None, now: float) -> Sequence[Effect]:
        if problem is not None:
            return self._failed(problem, now)
        assert self._receiver is not None
        return self._receiver.confirm(complete=True, now=now, reason=Reason.NONE)
