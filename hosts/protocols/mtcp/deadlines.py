"""When an agent's packets expire (MTCP, 3.2 to 3.4): RTO_RTD after their send time at first, RTO_RTT after a repair."""

import heapq
from collections import deque

from hosts.parts.rtt import INITIAL_TIMEOUT_S
from hosts.parts.sack import Scoreboard
from hosts.protocols.mtcp.delays import MAX_TIMEOUT_S, Delays
from hosts.protocols.mtcp.store import PacketStore, StoredPacket


class Deadlines:
    """The retransmission timers of packets that some child lacks; O(log n) a change."""

    __slots__ = ("_board", "_delays", "_first_sent", "_scheduled", "_store")

    def __init__(self, store: PacketStore, board: Scoreboard, delays: Delays) -> None:
        self._store = store
        self._board = board
        self._delays = delays
        self._first_sent: deque[tuple[int, float, float]] = deque()  # seq, send time (sender's clock), buffered at
        self._scheduled: list[tuple[float, int]] = []  # heap of (deadline, seq), with stale entries

    def multicast(self, seq: int, send_time_s: float, now: float) -> None:
        """A packet has left the sender at this time of its clock. They must come in order of these times."""
        self._first_sent.append((seq, send_time_s, now))

    def restart(self, seq: int, packet: StoredPacket, timeout: float, now: float) -> None:
        """A packet expires after `timeout` seconds, whatever was said before."""
        packet.timeout = min(timeout, MAX_TIMEOUT_S)
        packet.deadline = now + packet.timeout
        heapq.heappush(self._scheduled, (packet.deadline, seq))

    def _first(self) -> float | None:
        """When the oldest packet that was never repaired expires."""
        first_sent = self._first_sent
        while first_sent:
            seq, send_time, buffered_at = first_sent[0]
            packet = self._store.packets.get(seq)
            if packet is not None and not packet.timeout and not self._board.is_complete(seq):
                rto = self._delays.rto_rtd
                return buffered_at + INITIAL_TIMEOUT_S if rto is None else send_time + rto
            first_sent.popleft()
        return None

    def _other(self) -> float | None:
        """When the first of the others does."""
        scheduled = self._scheduled
        while scheduled:
            deadline, seq = scheduled[0]
            packet = self._store.packets.get(seq)
            if packet is not None and packet.deadline == deadline and not self._board.is_complete(seq):
                return deadline
            heapq.heappop(scheduled)
        return None

    @property
    def next_at(self) -> float | None:
        """The earliest."""
        first, other = self._first(), self._other()
        if first is None or (other is not None and other < first):
            return other
        return first

    def pop_expired(self, now: float) -> int | None:
        """A packet that has expired; it has no deadline any more. None: there is none."""
        deadline = self._first()
        if deadline is not None and deadline <= now:
            return self._first_sent.popleft()[0]
        deadline = self._other()
        if deadline is not None and deadline <= now:
            return heapq.heappop(self._scheduled)[1]
        return None
