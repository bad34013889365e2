"""One sender or receiver of a simulated session, and what it has come to."""

from collections.abc import Callable

from hosts.application import Sink, Source
from hosts.endpoint import Endpoint, Event, PeerDropped, PeerFinished, ReceiverEndpoint, SessionEnded, StreamEnded
from hosts.programs.course import Course
from hosts.wire.manifest import FileError
from topologies.simulation.hosted import Conditions, HostedEndpoint


class Member(Course):
    """Times are seconds in the run."""

    def __init__(
        self,
        host: str,
        endpoint: Endpoint,
        conditions: Conditions,
        *,
        source: Source | None = None,
        sink: Sink | None = None,
        on_end: Callable[["Member"], None] = lambda member: None,
    ) -> None:
        """`on_end` is called when the endpoint has ended its session."""
        super().__init__()
        self.host = host
        self.hosted = HostedEndpoint(endpoint, conditions, on_event=self.note, source=source, sink=sink)
        self.program = -1
        """Its number in the simulator."""
        self.complete_at: float | None = None
        """When the whole file had come, and was right."""
        self.ending: SessionEnded | None = None
        self.closed_at = 0.0
        """When that was."""
        self.is_dead = False
        """Killed without a word."""
        self._on_end = on_end

    @property
    def is_over(self) -> bool:
        """Whether it does no more, for whatever reason."""
        return self.is_dead or self.ending is not None

    @property
    def error(self) -> FileError | None:
        """What went wrong with the file, if anything did."""
        return self.hosted.application.error

    def note(self, event: Event, now: float) -> None:
        super().note(event, now)
        if isinstance(event, PeerDropped | PeerFinished):
            self.ended_at = now
        elif isinstance(event, StreamEnded):
            if isinstance(self.hosted.endpoint, ReceiverEndpoint) and self.error is None:
                self.complete_at = now
        elif isinstance(event, SessionEnded):
            self.ending, self.closed_at = event, now
            self._on_end(self)
