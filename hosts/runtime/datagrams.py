"""Datagrams between sockets and an endpoint, as many in one system call as there are (recvmmsg, sendmmsg), and as many
in one message as the kernel cuts and puts together (UDP_SEGMENT, UDP_GRO).
"""

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Final, TypeAlias

from canopy_engine import DatagramReader, DatagramSender

from hosts.endpoint import Address, Datagram, DatagramRun, Send, SendRun
from hosts.runtime import sockets
from hosts.wire.header import UNICAST_TTL

BATCH: Final = 16
"""Messages read at a time, before timers and the other sockets get their turn (ours)."""
BACKLOG: Final = 1024
"""Datagrams kept while the kernel takes no more; beyond that they are dropped, as a full queue would (ours)."""
LONGEST_WAIT_S: Final = 1.0
"""No datagram waits longer in a socket's buffer; a timestamp that says so is not believed (ours)."""
RUN_BYTES: Final = 65_507
"""Of a run that an endpoint sends, at most: what an IPv4 packet holds behind its header and UDP's, so that most of one
leave as one message (the kernel's other bound is of 64 datagrams, which `DatagramSender` keeps)."""
PEERS: Final = 4096
"""Source addresses remembered as objects (ours)."""

Transmit: TypeAlias = Callable[[int, Sequence[Send | SendRun]], tuple[int, int]]
"""`canopy_engine.DatagramSender.send`, or what a test has in its place."""


class Inbox:
    """Reads a session's sockets, which are set up by hosts/runtime/sockets.py."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock`: the endpoint's."""
        self._clock = clock
        self._offset = -inf  # what turns the kernel's timestamps into times of that clock
        self.dropped = 0
        """Datagrams for which these sockets' buffers had no room, as far as the kernel has said."""
        self._receive = DatagramReader(BATCH).receive
        self._peers: dict[int, Address] = {}
        self._dropped: dict[int, int] = {}  # of each descriptor, as the kernel counts

    def take(self, sock: socket.socket, destination: Address, *, unicast: bool) -> list[Datagram | DatagramRun]:
        """What waits there, at most `BATCH` messages; empty when nothing does. Only a `unicast` socket's have `hops`.
        Raises OSError.
        """
        peers = self._peers
        runs, dropped = self._receive(sock.fileno())
        now = self._look_at_clocks()
        offset = self._offset
        earliest = now - LONGEST_WAIT_S
        if dropped is not None:
            self._count(sock.fileno(), dropped)
        found: list[Datagram | DatagramRun] = []
        for data, size, source, first_stamp, stamp, ttl, ecn, stamps in runs:
            peer = peers.get(source)
            if peer is None:
                peer = self._remember(source)
            arrived = None
            if stamp is not None and earliest < stamp + offset <= now:  # else the system clock was set meanwhile
                arrived = stamp + offset
            hops = UNICAST_TTL - ttl if unicast and ttl is not None and ttl <= UNICAST_TTL else None
            if len(data) <= size:
                found.append(Datagram(data, peer, destination, arrived, hops, ecn))
                continue
            first = arrived
            if arrived is not None and first_stamp is not None and earliest < first_stamp + offset <= arrived:
                first = first_stamp + offset
            came: tuple[tuple[int, float], ...] = ()
            if first is not None and arrived is not None:
                came = tuple((number, min(max(first, at + offset), arrived)) for number, at in stamps)
            found.append(DatagramRun(data, size, peer, destination, first, arrived, hops, ecn, came))
        return found

    def _look_at_clocks(self) -> float:
        """Our clock's time. Between a look at the one and at the other another program may have had the processor for
        milliseconds, so the clocks' distance is only known to be within what two looks at ours have around one at the
        other; within that it stays what it was.
        """
        before, system, now = self._clock(), time.time(), self._clock()
        self._offset = min(max(self._offset, before - system), now - system)
        return now

    def _count(self, descriptor: int, dropped: int) -> None:
        self.dropped += dropped - self._dropped.get(descriptor, 0) & 0xFFFFFFFF
        self._dropped[descriptor] = dropped

    def forget(self, sock: socket.socket) -> None:
        """The socket is about to be closed: another may get its descriptor."""
        self._dropped.pop(sock.fileno(), None)

    def _remember(self, source: int) -> Address:
        if len(self._peers) >= PEERS:
            self._peers.clear()
        peer = self._peers[source] = Address(socket.inet_ntoa((source >> 16).to_bytes(4, "big")), source & 0xFFFF)
        return peer


class Outbox:
    """Sends in order from one socket; what the kernel has no room for waits."""

    def __init__(self, sock: socket.socket, counters: Counter[str], transmit: Transmit | None = None) -> None:
        """Counts `send_errors` (to the protocol, lost packets) and `backlog_drops`. `transmit`: what a test has in
        place of the kernel."""
        self._sock = sock
        self._counters = counters
        self._transmit = transmit or DatagramSender(sockets.cuts_messages(sock)).send
        self._waiting: deque[Send | SendRun] = deque()
        self._count = 0  # datagrams in it

    def send(self, sends: Sequence[Send | SendRun]) -> bool:
        """Whether some of them, or of earlier ones, wait: `resume` is due once the socket is writable."""
        if not self._waiting:
            sends = self._hand_over(sends)
            if not sends:
                return False
        for send in sends:
            count = _count(send)
            if self._count + count > BACKLOG:
                self._counters["backlog_drops"] += count
            else:
                self._waiting.append(send)
                self._count += count
        return True

    def resume(self) -> bool:
        """Send what waits; whether some of it still does."""
        self._waiting = deque(self._hand_over(list(self._waiting)))
        self._count = sum(map(_count, self._waiting))
        return bool(self._waiting)

    def _hand_over(self, sends: Sequence[Send | SendRun]) -> Sequence[Send | SendRun]:
        """What is left to be sent of them."""
        done, refused = self._transmit(self._sock.fileno(), sends)
        if refused:
            self._counters["send_errors"] += refused
        if done == len(sends) and not any(type(send) is SendRun for send in sends):
            return ()
        for number, send in enumerate(sends):
            count = _count(send)
            if done < count:
                rest = list(sends[number:])
                if done and type(send) is SendRun:
                    rest[0] = send._replace(data=send.data[done * send.size :])
                return rest
            done -= count
        return ()


def _count(send: Send | SendRun) -> int:
    return send.packets if type(send) is SendRun else 1
