"""A playout buffer: gives real-time data the rhythm back in which they were sent, and says how well it was kept.

Datagrams are played `delay` after the fastest of them would have come: at `sent_at` plus the least transit time seen
plus `delay`. What comes later than that is late, and as good as lost. Clocks share no origin; only differences count.

Nor do they share a rate. What was seen an age ago may be worth `MAX_DRIFT` times that age more by now, so the least is
taken of all transit times grown at that rate: a minimum that leaks upwards, where RTP receivers take that of the last
so many packets and approach it slowly. With clocks that drift by no more than that, no datagram is late that would be
in time with clocks that do not; and without drift a datagram is played later than by the plain minimum, by at most
`MAX_DRIFT` times the age of the fastest one: a millisecond where one as fast comes every ten seconds. (A drift and a
queue that grows as slowly look alike. A minimum that never ages is right with the queue only.)
"""

import heapq
from typing import Final

from hosts.endpoint import DeliverDatagram

JITTER_GAIN: Final = 1 / 16
"""RFC 3550, 6.4.1."""
MAX_DRIFT: Final = 100e-6
"""By how much two hosts' clocks may differ in rate, seconds a second (ours: two crystals of 50 ppm)."""

FAR_S: Final = 1.0
"""One datagram that was faster than all others by more says nothing, and is not played; of an open session anybody may
have made it (ours)."""


class PlayoutBuffer:
    """Times are seconds on the receiver's clock unless said otherwise."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.jitter = 0.0
        """Interarrival jitter (RFC 3550, 6.4.1)."""
        self.received = 0
        self.late = 0
        self.played = 0
        self.unread = 0
        """Due, but dropped because whoever reads what is played was too slow."""
        self.bytes = 0
        """Of what was played."""
        self._heap: list[tuple[int, DeliverDatagram]] = []
        self._transit: float | None = None  # of the last one
        self._least = 0.0  # transit time, clocks' offset included
        self._far: float | None = None  # of the last one, if that was too fast to be believed
        self._newest = 0.0  # arrival
        self._first: int | None = None  # sequence number to be played first, and last
        self._last = 0

    def add(self, datagram: DeliverDatagram) -> None:
        """Take a datagram as it arrives."""
        self.received += 1
        transit = datagram.arrived_at - datagram.sent_at
        before, self._far = self._far, None
        is_far = self._transit is not None and self._least - transit > FAR_S
        if is_far and (before is None or abs(transit - before) > FAR_S):
            self._far = transit
            self.late += 1
            return
        if self._transit is None:
            self._least = transit
            self._newest = datagram.arrived_at
        else:
            passed = max(0.0, datagram.arrived_at - self._newest)
            self._newest += passed
            self._least = min(self._least + MAX_DRIFT * passed, transit)
            self.jitter += JITTER_GAIN * (abs(transit - self._transit) - self.jitter)
        self._transit = transit
        if datagram.arrived_at > self.due(datagram) or (self._first is not None and datagram.seq <= self._last):
            self.late += 1
            return
        heapq.heappush(self._heap, (datagram.seq, datagram))

    def due(self, datagram: DeliverDatagram) -> float:
        """When it is to be played, by what is known so far."""
        return datagram.sent_at + self._least + self.delay

    @property
    def next_at(self) -> float | None:
        """When something is to be played next."""
        return self.due(self._heap[0][1]) if self._heap else None

    def take(self, now: float) -> list[bytes]:
        """What is to be played by `now`, in order."""
        pieces = []
        while self._heap and self.due(self._heap[0][1]) <= now:
            seq, datagram = heapq.heappop(self._heap)
            if self._first is None:
                self._first = seq
            self._last = seq
            self.played += 1
            self.bytes += len(datagram.data)
            pieces.append(datagram.data)
        return pieces

    def not_read(self, packets: int, size: int) -> None:
        """So many of those that were taken, `size` bytes in all, were not played after all: their reader was slow."""
        self.played -= packets
        self.bytes -= size
        self.unread += packets

    @property
    def lost(self) -> int:
        """Datagrams that were not played: lost on the way, late, or not read."""
        return 0 if self._first is None else self._last - self._first + 1 - self.played

    @property
    def loss(self) -> float:
        """The same as a part of all, 0..1."""
        expected = self.lost + self.played
        return self.lost / expected if expected else 0.0
