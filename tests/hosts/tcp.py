"""A TCP to share links with: Reno's window with selective acknowledgments (RFC 5681, 6675, 6298) and endless data.

One acknowledgment a packet, no window limit, minimum timeout 0.2 s. Sequence numbers count packets and do not wrap.
"""

import struct
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, Effect, Endpoint, Send
from hosts.parts.rtt import DelayEstimator
from hosts.parts.sack import ReceivedSet, bits

DATA = struct.Struct("!Id")  # sequence number, send time in seconds
SACK_BITS = 2048
ACK = struct.Struct(f"!Id{SACK_BITS // 8}s")  # first missing, echoed send time, what has arrived beyond it
LEAST_RTO_S = 0.2
DUPLICATES = 3


class TcpSender(Endpoint):
    """Sends for ever from `start_at` on, its own clock."""

    def __init__(self, peer: Address, *, payload_bytes: int = 1400, start_at: float = 0.0) -> None:
        self.counters: Counter[str] = Counter()
        self.peer = peer
        self.payload_bytes = payload_bytes
        self.cwnd = 2.0
        self.ssthresh = 1e9
        self.una = self.next = 0
        self.recover = 0
        self.rtt = DelayEstimator(LEAST_RTO_S)
        self.backoff = 1.0
        self._sacked = 0  # bit i: una + i has arrived
        self._lost: set[int] = set()  # and not sent again yet
        self._resent: set[int] = set()
        self._deadline: float | None = start_at
        self._running = False

    @property
    def session_id(self) -> int | None:
        return None

    def start(self, *, now: float) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self._deadline = None
        return ()

    @property
    def closed(self) -> bool:
        return True  # it never keeps a test waiting

    @property
    def wake_at(self) -> float | None:
        return self._deadline

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        ack, echo, sack = ACK.unpack(datagram.data)
        self.rtt.add(now - echo)
        if ack > self.una:
            self.backoff = 1.0
            newly = ack - self.una
            self._sacked >>= newly
            self.una = ack
            self._lost = {seq for seq in self._lost if seq >= ack}
            self._resent = {seq for seq in self._resent if seq >= ack}
            if ack > self.recover:
                self.cwnd += newly if self.cwnd < self.ssthresh else newly / self.cwnd
            self._deadline = now + (self.rtt.timeout or 1.0) * self.backoff
        if ack == self.una:
            self._sacked |= int.from_bytes(sack, "big") << 1
        self._find_lost()
        return self._fill(now)

    def _find_lost(self) -> None:
        above = self._sacked
        for _ in range(DUPLICATES - 1):  # without the two highest: below what is left, three have arrived above
            if above:
                above ^= 1 << above.bit_length() - 1
        for seq in bits(~self._sacked & ((1 << above.bit_length()) - 1), self.una):
            if seq not in self._lost and seq not in self._resent:
                self._lost.add(seq)
                if seq >= self.recover:
                    self.counters["fast_retransmits"] += 1
                    self.ssthresh = self.cwnd = max(2.0, self.cwnd / 2)
                    self.recover = self.next
        self._lost -= set(bits(self._sacked, self.una))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self._deadline is None or now < self._deadline:
            return ()
        if self._running and self.next > self.una:
            self.counters["timeouts"] += 1
            self.ssthresh = max(2.0, self.cwnd / 2)
            self.cwnd = 1.0
            self.backoff = min(64.0, 2 * self.backoff)
            self.recover = self.next
            self._resent.clear()
            self._lost = {seq for seq in range(self.una, self.next) if not self._sacked >> (seq - self.una) & 1}
        self._running = True
        self._deadline = now + (self.rtt.timeout or 1.0) * self.backoff
        return self._fill(now)

    def _fill(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        pipe = self.next - self.una - self._sacked.bit_count() - len(self._lost)
        while self._running and pipe < int(self.cwnd) and self.next - self.una < SACK_BITS:
            if self._lost:
                seq = min(self._lost)
                self._lost.remove(seq)
                self._resent.add(seq)
            else:
                seq = self.next
                self.next += 1
            pipe += 1
            self.counters["packets"] += 1
            effects.append(Send(DATA.pack(seq, now) + bytes(self.payload_bytes), self.peer))
        return effects


class TcpReceiver(Endpoint):
    """Acknowledges each packet."""

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.arrivals: list[float] = []
        """When each new packet arrived."""
        self._received = ReceivedSet()

    @property
    def session_id(self) -> int | None:
        return None

    def start(self, *, now: float) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return ()

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return ()

    @property
    def closed(self) -> bool:
        return True

    @property
    def wake_at(self) -> float | None:
        return None

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        seq, echo = DATA.unpack_from(datagram.data)
        if self._received.add(seq):
            self.arrivals.append(now)
        sack = (self._received.sack & ((1 << SACK_BITS) - 1)).to_bytes(SACK_BITS // 8, "big")
        return (Send(ACK.pack(self._received.cumulative, echo, sack), datagram.source),)

    def rate_bps(self, start: float, stop: float, payload_bytes: int = 1400) -> float:
        """Goodput in an interval of its own clock."""
        return sum(start < at <= stop for at in self.arrivals) * payload_bytes * 8 / (stop - start)
