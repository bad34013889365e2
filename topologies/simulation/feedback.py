"""A simulated host's processor, as far as feedback is concerned: a single server with a bounded queue.

Packets have reached the host when they come here, and the kernel has their times: what waits for the processor is late,
but is not taken for a queue in the network, as in an emulation.
"""

from topologies.scenario.network import FeedbackTime


class FeedbackServer:
    """One host's; all its endpoints share it. Times are the network's, seconds."""

    def __init__(self, settings: FeedbackTime) -> None:
        self.time_s = settings.time
        """What one packet takes."""
        self.dropped = 0
        """Packets that found no room."""
        self._limit = settings.queue
        self._waiting = 0
        self._free_at = 0.0

    def admit(self, now: float) -> float | None:
        """A packet comes; when it is through, or None when there is no room for it."""
        if self._waiting >= self._limit:
            self.dropped += 1
            return None
        self._waiting += 1
        self._free_at = max(self._free_at, now) + self.time_s
        return self._free_at

    def release(self) -> None:
        """A packet is through."""
        self._waiting -= 1
