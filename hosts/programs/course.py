"""When a session began and ended at one of its endpoints, and how fast its file came."""

from hosts.endpoint import Event, SessionEnded, SessionStarted, StreamBegan


class Course:
    """Times are seconds, on whatever clock the events are noted by."""

    def __init__(self) -> None:
        self.started_at: float | None = None
        self.began_at: float | None = None
        """When a receiver's first data came; a session may wait for others before it."""
        self.ended_at: float | None = None
        """Of the last thing that counts: a receiver's confirmation, or the end."""
        self._first: StreamBegan | None = None

    def note(self, event: Event, now: float) -> None:
        """Take one event of the endpoint."""
        if isinstance(event, SessionStarted):
            self.started_at = now
        elif isinstance(event, StreamBegan):
            self.began_at, self._first = now, event
        elif isinstance(event, SessionEnded) and self.ended_at is None:
            self.ended_at = now

    @property
    def duration(self) -> float | None:
        """Seconds from the start, at a receiver of a file from its first data, to `ended_at`."""
        since = self.started_at if self.began_at is None else self.began_at
        return None if since is None or self.ended_at is None else self.ended_at - since

    def goodput_bps(self, size: int) -> float | None:
        """Of so many bytes that a receiver has got. What came first took its time before the duration begins: counted
        in it would be faster than the network. None: nothing came later."""
        duration = self.duration
        if self._first is None or not duration or size <= self._first.size:
            return None
        return (size - self._first.size) * 8 / duration
