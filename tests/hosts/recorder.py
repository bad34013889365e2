"""An endpoint that notes what it is told, and sinks, for tests of what drives endpoints."""

from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    Datagram,
    Deliver,
    Effect,
    JoinGroup,
    ReceiverEndpoint,
    Send,
    SessionEnded,
    StreamEnded,
)
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

GROUP = Address("232.1.0.1", 5001)
PEER = Address("10.0.0.1", 40000)


class Recorder(ReceiverEndpoint):
    """Notes its calls; delivers what it receives; ends the stream with an empty datagram."""

    def __init__(self) -> None:
        self.counters = {}
        self.calls: list[tuple[str, float]] = []
        self.datagrams: list[Datagram] = []
        self.consumed_bytes: list[int] = []
        self.confirmed: list[tuple[bool, Reason]] = []
        self._closed = False

    @property
    def session_id(self) -> int | None:
        return 1

    def start(self, *, now: float) -> Sequence[Effect]:
        self.calls.append(("start", now))
        return (JoinGroup(GROUP, None),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self.calls.append(("receive", now))
        self.datagrams.append(datagram)
        if not datagram.data:
            return (StreamEnded(0),)
        half = len(datagram.data) // 2
        return (Deliver(0, datagram.data[:half]), Deliver(half, datagram.data[half:]))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        self.calls.append(("timer", now))
        return ()

    @property
    def wake_at(self) -> float | None:
        return 200.0

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self._closed = True
        return (Send(b"bye", PEER), SessionEnded(False, reason))

    @property
    def closed(self) -> bool:
        return self._closed

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self.consumed_bytes.append(count)
        return (Send(b"window", PEER),)

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        self.confirmed.append((complete, reason))
        return (Send(b"done", PEER),)


class FullSink:
    """Has no room."""

    def write(self, data: bytes) -> None:
        raise FileError("full", Reason.CANNOT_WRITE)

    def finish(self) -> None:
        raise AssertionError


class ListSink:
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.data = b""
        self.is_finished = False

    def write(self, data: bytes) -> None:
        self.data += data

    def finish(self) -> None:
        self.is_finished = True
