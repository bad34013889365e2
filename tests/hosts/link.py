"""A link of the network in virtual time, one direction of it; time in seconds."""

from collections import deque
from collections.abc import Callable
from heapq import heappush

from hosts.endpoint import Datagram
from hosts.wire.header import CE, NOT_ECT
from tests.hosts.surroundings import Surroundings

FRAME_BYTES = 14 + 20 + 8
"""Ethernet, IPv4 and UDP headers: what a link carries beside the datagram."""


class Link:
    """One direction: a DropTail queue, a rate, a delay; then loss, duplication and extra delay (reordering)."""

    def __init__(
        self,
        network: Surroundings,
        to: str,
        rate_bps: float,
        delay_s: float,
        limit_packets: int,
        loss: float,
        duplicate: float,
        jitter_s: float,
    ) -> None:
        self.network = network
        self.to = to
        self.rate_bps = rate_bps
        self.delay_s = delay_s
        self.limit_packets = limit_packets
        self.loss = loss
        self.duplicate = duplicate
        self.jitter_s = jitter_s
        self.hold_s = 0.0
        """Who sends into it takes up to so long before each packet: without that, who loses in a full queue depends on
        the phase of who comes (Floyd and Jacobson 1992)."""
        self._held_until = 0.0
        self.up = True
        self.queue: deque[float] = deque()  # departure times
        self.busy_until = 0.0
        self.sent = self.overflows = self.losses = 0
        self.sent_bytes = 0
        self.mark_packets: int | None = None
        """From so many in the queue on it marks what may be marked, instead of nothing."""
        self.lose: Callable[[Datagram], bool] | None = None
        """A test's own choice of what is lost."""

    def send(self, datagram: Datagram, held: bool = False) -> None:
        network = self.network
        now = network.now
        if self.hold_s and not held:
            self._held_until = max(self._held_until, now + network.rng.uniform(0, self.hold_s))
            network.at(self._held_until, self.send, datagram, True)
            return
        queue = self.queue
        while queue and queue[0] <= now:
            queue.popleft()
        if not self.up or len(queue) >= self.limit_packets:
            self.overflows += 1
            return
        if self.mark_packets is not None and len(queue) >= self.mark_packets and datagram.ecn != NOT_ECT:
            datagram = datagram._replace(ecn=CE)
        size = len(datagram.data) + FRAME_BYTES
        begins = self.busy_until
        ends = self.busy_until = (begins if begins > now else now) + size * 8 / self.rate_bps
        queue.append(ends)
        self.sent += 1
        self.sent_bytes += size
        rng = network.rng
        if (self.loss and rng.random() < self.loss) or (self.lose is not None and self.lose(datagram)):
            self.losses += 1
            return
        there = ends + self.delay_s
        if not self.duplicate and not self.jitter_s:
            network.order = order = network.order + 1  # as `at` does, which is called too often for a call
            heappush(network.events, (there, order, network.forward, (self.to, datagram)))
            return
        for _ in range(2 if self.duplicate and rng.random() < self.duplicate else 1):
            jitter = rng.uniform(0, self.jitter_s) if self.jitter_s else 0.0
            network.at(there + jitter, network.forward, self.to, datagram)
