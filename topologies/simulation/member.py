"""One sender or receiver of a simulated session, and what it has come to."""

from collections.abc import Callable
from typing import Final

from hosts.application import Source
from hosts.endpoint import (
    Endpoint,
    Event,
    PeerDropped,
    PeerFinished,
    ReceiverEndpoint,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.programs.files import FileSink
from hosts.wire.manifest import FileError
from topologies.simulation.hosted import Conditions, HostedEndpoint
from topologies.simulation.sink import CheckingSink


class _OpeningSink:
    """A sink that tells when it has the manifest."""

    is_of_file: Final = True
    """See `Sink`."""

    def __init__(self, sink: FileSink | CheckingSink, on_open: Callable[[], None]) -> None:
        self._sink = sink
        self._on_open = on_open

    def write(self, data: bytes) -> None:
        """Take the next bytes. Raises FileError."""
        was_open = self._sink.contents is not None
        self._sink.write(data)
        if not was_open and self._sink.contents is not None:
            self._on_open()

    def finish(self) -> object:
        """The stream has ended: check. Raises FileError."""
        return self._sink.finish()


class Member:
    """Times are seconds in the run."""

    def __init__(
        self,
        host: str,
        endpoint: Endpoint,
        conditions: Conditions,
        *,
        source: Source | None = None,
        sink: FileSink | CheckingSink | None = None,
        waits_for_others: bool = True,
        on_end: Callable[["Member"], None] = lambda member: None,
    ) -> None:
        """`on_end` is called when the endpoint has ended its session; `waits_for_others`: its session may, before the
        first data."""
        self.host = host
        opening = None if sink is None else _OpeningSink(sink, self._opened)
        self.hosted = HostedEndpoint(endpoint, conditions, on_event=self._note, source=source, sink=opening)
        self.program = -1
        """Its number in the simulator."""
        self.started_at: float | None = None
        self.opened_at: float | None = None
        """When a receiver had the file's manifest."""
        self.ended_at: float | None = None
        """When the last receiver confirmed or was dropped; at a receiver, when the session ended."""
        self.complete_at: float | None = None
        """When the whole file had come, and was right."""
        self.ending: SessionEnded | None = None
        self.closed_at = 0.0
        """When that was."""
        self.is_dead = False
        """Killed without a word."""
        self._on_end = on_end
        self._counts_from_file = sink is not None and waits_for_others

    @property
    def is_over(self) -> bool:
        """Whether it does no more, for whatever reason."""
        return self.is_dead or self.ending is not None

    @property
    def duration(self) -> float | None:
        """From the session's start, at a receiver from the file's (as `canopy recv` counts), to its end, seconds."""
        started_at = self.opened_at if self._counts_from_file else self.started_at
        if started_at is None or self.ended_at is None:
            return None
        return self.ended_at - started_at

    @property
    def error(self) -> FileError | None:
        """What went wrong with the file, if anything did."""
        return self.hosted.application.error

    def _opened(self) -> None:
        self.opened_at = self.hosted.now

    def _note(self, event: Event, now: float) -> None:
        if isinstance(event, SessionStarted):
            self.started_at = now
        elif isinstance(event, PeerDropped | PeerFinished):
            self.ended_at = now
        elif isinstance(event, StreamEnded):
            if isinstance(self.hosted.endpoint, ReceiverEndpoint) and self.error is None:
                self.complete_at = now
        elif isinstance(event, SessionEnded):
            self.ended_at = now if self.ended_at is None else self.ended_at
            self.ending, self.closed_at = event, now
            self._on_end(self)
