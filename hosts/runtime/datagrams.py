"""Datagrams between sockets and an endpoint, as many in one system call as there are (recvmmsg, sendmmsg)."""

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from canopy_engine import DatagramReader, send_datagrams

from hosts.endpoint import UNICAST_TTL, Address, Datagram, Send

BATCH: Final = 32
"""Datagrams read at a time, before timers and the other sockets get their turn (ours)."""
BACKLOG: Final = 1024
"""Datagrams kept while the kernel takes no more; beyond that they are dropped, as a full queue would (ours)."""
LONGEST_WAIT_S: Final = 1.0
"""No datagram waits longer in a socket's buffer; a timestamp that says so is not believed (ours)."""
PEERS: Final = 4096
"""Source addresses remembered as objects (ours)."""

Transmit: TypeAlias = Callable[[int, Sequence[tuple[bytes, tuple[str, int], int]]], tuple[int, int]]
"""`canopy_engine.send_datagrams`, or what a test has in its place."""


class Inbox:
    """Reads a session's sockets, which are set up by hosts/runtime/sockets.py."""

    def __init__(self) -> None:
        self._receive = DatagramReader(BATCH).receive
        self._peers: dict[int, Address] = {}

    def take(self, sock: socket.socket, destination: Address, now: float, *, unicast: bool) -> list[Datagram]:
        """What waits there, at most `BATCH`; empty when nothing does. `now`: the endpoint's clock. Only a `unicast`
        socket's have `hops`. Raises OSError.
        """
        # Both clocks now: what turns the kernel's timestamps into times of ours.
        offset = now - time.time()
        earliest = now - LONGEST_WAIT_S
        peers = self._peers
        found = []
        for data, source, stamp, ttl, ecn in self._receive(sock.fileno()):
            peer = peers.get(source)
            if peer is None:
                peer = self._remember(source)
            arrived = None
            if stamp is not None and earliest < stamp + offset <= now:  # else the system clock was set meanwhile
                arrived = stamp + offset
            hops = UNICAST_TTL - ttl if unicast and ttl is not None and ttl <= UNICAST_TTL else None
            found.append(Datagram(data, peer, destination, arrived, hops, ecn))
        return found

    def _remember(self, source: int) -> Address:
        if len(self._peers) >= PEERS:
            self._peers.clear()
        peer = self._peers[source] = Address(socket.inet_ntoa((source >> 16).to_bytes(4, "big")), source & 0xFFFF)
        return peer


class Outbox:
    """Sends in order from one socket; what the kernel has no room for waits."""

    def __init__(self, sock: socket.socket, counters: Counter[str], transmit: Transmit = send_datagrams) -> None:
        """Counts `send_errors` (to the protocol, lost packets) and `backlog_drops`."""
        self._sock = sock
        self._counters = counters
        self._transmit = transmit
        self._waiting: deque[Send] = deque()

    def send(self, sends: Sequence[Send]) -> bool:
        """Whether some of them, or of earlier ones, wait: `resume` is due once the socket is writable."""
        if not self._waiting:
            done = self._hand_over(sends)  # within the brackets mypyc's code would call it twice
            if done == len(sends):
                return False
            sends = sends[done:]
        room = BACKLOG - len(self._waiting)
        self._waiting += sends[:room]
        if len(sends) > room:
            self._counters["backlog_drops"] += len(sends) - room
        return True

    def resume(self) -> bool:
        """Send what waits; whether some of it still does."""
        for _ in range(self._hand_over(list(self._waiting))):
            self._waiting.popleft()
        return bool(self._waiting)

    def _hand_over(self, sends: Sequence[Send]) -> int:
        """How many of them are done with."""
        done, refused = self._transmit(self._sock.fileno(), sends)
        if refused:
            self._counters["send_errors"] += refused
        return done
