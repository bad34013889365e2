"""Seam 1: what a sender, receiver or agent of any protocol is given, and what it answers.

An endpoint is a state machine without sockets, clock and threads: a runtime (asyncio on UDP sockets, or the simulator)
hands it datagrams and the time, and carries out the effects that it returns, in order.

The runtime's contract
- `now` is in seconds on the endpoint's own monotonic clock; it never goes back. Two hosts' clocks share neither origin
  nor rate, unless the session's parameters say that they do (hosts/runtime/clock.py).
- After each call the runtime reads `wake_at` and calls `handle_timer` once that time has come; sooner is harmless.
- An endpoint has one unicast address. `Send` leaves from it, to a peer or to a group; replies come back to it.
  `JoinGroup` makes datagrams to that group (address and port) arrive as well.
- `receive` raises on no input: what is malformed, foreign or stale is counted in `counters` and dropped.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeAlias

from hosts.storage import FileChange, Room
from hosts.wire.header import NOT_ECT
from hosts.wire.manifest import Manifest
from hosts.wire.reason import Reason
from hosts.wire.tree.checking import TreeChecker


class Address(NamedTuple):
    """An IPv4 address in dotted form, and a UDP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Datagram(NamedTuple):
    """One UDP datagram as it arrived."""

    data: bytes
    source: Address
    destination: Address
    """The group for multicast, the endpoint's own address for unicast."""
    arrived_at: float | None = None
    """When it reached the host, on the clock of `now` and not after it: a busy program is no queue. None: just now."""
    hops: int | None = None
    """Routers and P4 switches that a unicast datagram passed (of `UNICAST_TTL`); None: a group's, or not known."""
    ecn: int = NOT_ECT
    """The ECN field as it arrived; `NOT_ECT` where the kernel does not say."""

    def came_at(self, now: float) -> float:
        """When it reached the host, as far as is known at the time `now` of its handling."""
        return now if self.arrived_at is None else self.arrived_at


class DatagramRun(NamedTuple):
    """Datagrams that came one after the other, from one source, and were read together."""

    data: bytes
    """Of all, one after the other; of `size` bytes each but the last, which may be shorter."""
    size: int
    source: Address
    destination: Address
    first_at: float | None = None
    """When the first of them reached the host, as `Datagram.arrived_at`."""
    arrived_at: float | None = None
    """When the last did; not before `first_at`."""
    hops: int | None = None
    ecn: int = NOT_ECT
    came: tuple[tuple[int, float], ...] = ()
    """Of each message that the kernel gave: which datagram was its first, and when it came. Empty: all came evenly."""

    @property
    def packets(self) -> int:
        """Datagrams in it."""
        return -(-len(self.data) // self.size)

    def datagram(self, number: int) -> Datagram:
        """One by itself, counted from 0."""
        data, size, source, destination, first_at, at, hops, ecn, came = self
        if came:
            at = next(time for first, time in reversed(came) if first <= number)
        elif first_at is not None and at is not None:
            at = first_at + (at - first_at) * number / max(1, self.packets - 1)
        return Datagram(data[number * size : (number + 1) * size], source, destination, at, hops, ecn)

    def split(self, count: int) -> tuple[Self, Self]:
        """The first `count` datagrams, at least one, and the rest, which may be none."""
        if count >= self.packets:
            return self, self._replace(data=b"")
        at, came = count * self.size, tuple((max(0, number - count), time) for number, time in self.came)
        part = self._replace(data=self.data[:at], arrived_at=self.datagram(count - 1).arrived_at)
        return part, self._replace(data=self.data[at:], first_at=self.datagram(count).arrived_at, came=came)

    def datagrams(self) -> Iterator[Datagram]:
        """Each by itself."""
        return map(self.datagram, range(self.packets))


class Send(NamedTuple):
    """Send one datagram from the endpoint's own address."""

    data: bytes
    destination: Address
    ecn: int = NOT_ECT
    """The ECN field that it leaves with."""


class SendRun(NamedTuple):
    """Send several datagrams, one after the other: of an endpoint that was told that it may (`Endpoint.run_bytes`)."""

    data: bytes
    """Of all, one after the other."""
    destination: Address
    ecn: int
    size: int
    """Bytes of each but the last, which may be shorter."""

    @property
    def packets(self) -> int:
        """Datagrams in it."""
        return -(-len(self.data) // self.size)


class JoinGroup(NamedTuple):
    """Receive what `source` (None: anyone) sends to `group`."""

    group: Address
    source: str | None


class LeaveGroup(NamedTuple):
    """The reverse of the JoinGroup with the same fields."""

    group: Address
    source: str | None


class Deliver(NamedTuple):
    """Bytes of the session's stream, in order and without gaps; `offset` is that of the first byte. They count against
    the receiver's buffer until `ReceiverEndpoint.consumed` returns them."""

    offset: int
    data: bytes


class KeepFile(NamedTuple):
    """A file is whole in its room (hosts/storage.py) and wants its name: of a receiver that was given a shelf."""

    manifest: Manifest
    room: Room
    pieces: Iterable[bytes] | None = None
    """The file, where the room has a coded form of it."""


class Compute(NamedTuple):
    """Do this beside the network, in a thread or here and now, and tell `Endpoint.computed`: it takes milliseconds, for
    most of which it releases the interpreter. Where it `has_time`, nobody waits for it: packets go first."""

    work: Callable[[], object]
    has_time: bool = False


class DeliverDatagram(NamedTuple):
    """One packet's payload of a real-time session as it arrived, with gaps and out of order; it wants no `consumed`."""

    seq: int
    """Counts packets from the session's start; what is missing was lost."""
    offset: int
    """Of the first byte in the stream."""
    data: bytes
    sent_at: float
    """Sender's clock, seconds."""
    arrived_at: float
    """Receiver's clock, seconds."""


@dataclass(frozen=True, slots=True)
class PeerJoined:
    """A receiver (or an agent below this one) takes part from now on."""

    peer: Address


@dataclass(frozen=True, slots=True)
class PeerRefused:
    """A receiver asked to take part and may not."""

    peer: Address
    reason: str


@dataclass(frozen=True, slots=True)
class PeerDropped:
    """A receiver was given up: it no longer holds the session back, and it does not hold the whole stream."""

    peer: Address
    reason: str


@dataclass(frozen=True, slots=True)
class PeerMisquoted:
    """A switch has said of a receiver what it did not, or has kept back what it said: none is believed any more."""

    peer: Address


@dataclass(frozen=True, slots=True)
class PeerFinished:
    """A receiver confirmed the end of the session; `complete` is its own word on whether what it got is right."""

    peer: Address
    complete: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """Sender: data may flow. Receiver: admitted by the sender at `peer`."""

    peer: Address | None = None
    held: int = 0
    """Sender: so many of the first bytes of what it has offered all its receivers have, and need not be sent."""


@dataclass(frozen=True, slots=True)
class Offered:
    """Receiver, before it joins: what the sender will send. The application answers with `ReceiverEndpoint.holds`."""

    content: bytes


@dataclass(frozen=True, slots=True)
class StreamBegan:
    """Receiver of what everybody gets whole: the first data have come, which may wait for its admission."""

    size: int
    """Bytes of them."""


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """Receiver: the last byte was delivered. The application answers with `ReceiverEndpoint.confirm`."""

    length: int


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The endpoint's work is over: it will not send or want to be woken again."""

    complete: bool
    reason: str


@dataclass(frozen=True, slots=True)
class CongestionSignal:
    """The protocol took an event for congestion. `kind` is the protocol's word, as in `timeout`."""

    kind: str
    peer: Address | None = None


_OfPeer: TypeAlias = PeerJoined | PeerRefused | PeerDropped | PeerMisquoted | PeerFinished
Event: TypeAlias = _OfPeer | SessionStarted | Offered | StreamBegan | StreamEnded | SessionEnded | CongestionSignal
Effect: TypeAlias = Send | SendRun | JoinGroup | LeaveGroup | Deliver | KeepFile | Compute | DeliverDatagram | Event
Sample: TypeAlias = Mapping[str, object]
"""One trace row: JSON-ready values, named with their units (docs/trace.md)."""


class Endpoint:
    """A state machine that two runtimes drive. It is no ABC: the type checker sees that it is whole."""

    counters: dict[str, int]
    """What was sent, received and, with its reason, dropped."""
    run_bytes: int = 0
    """Of the longest `SendRun` that the runtime carries out: it says so before `start`. 0: none at all."""

    @property
    @abstractmethod
    def session_id(self) -> int | None:
        """The common header's session; None at a receiver that has not heard of one yet."""

    def place(self, address: Address) -> None:
        """Told once, before `start`: the endpoint's own unicast address. Most have no use for it."""

    @abstractmethod
    def start(self, *, now: float) -> Sequence[Effect]:
        """Begin; called once, after `place`, before anything else."""

    @abstractmethod
    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        """Take one datagram, from anybody."""

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Take datagrams that were read together; the same as `receive` of each, for who does nothing better."""
        return [effect for datagram in run.datagrams() for effect in self.receive(datagram, now=now)]

    def handed_over(self, *, now: float) -> None:
        """What was returned is handed to the network: so late is a busy host. Told by runtimes that take `SendRun`."""

    def computed(self, *, now: float) -> Sequence[Effect]:
        """Some of what a `Compute` asked for has been done; told once for each."""
        return ()

    @abstractmethod
    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        """Do what has fallen due by `now`."""

    @property
    @abstractmethod
    def wake_at(self) -> float | None:
        """When `handle_timer` wants to be called, in seconds; None: only after the next input."""

    @abstractmethod
    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        """Give the session up: tell the peers, leave the groups. Ends with SessionEnded."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether SessionEnded has been returned."""

    @property
    def patience_s(self) -> float:
        """How long datagrams may wait to be read together, which takes less of the processor; 0: not at all."""
        return 0.0

    @property
    def is_precise(self) -> bool:
        """Whether timers fire within a part of a millisecond; else what is due in one leaves together: cheaper."""
        return False

    def sample(self, *, now: float) -> Sample:
        """The state that a trace shows, for the time `now`. Reading it changes nothing."""
        return {}


class SenderEndpoint(Endpoint):
    """The source of a session: a stream of bytes goes in, and comes out at every receiver."""

    @property
    @abstractmethod
    def send_space(self) -> int:
        """Bytes that `write` takes now; 0 until there is room in the bounded send buffer."""

    @property
    def checked_bytes(self) -> tuple[int, int] | None:
        """Bytes of the stream in each packet, and for how many receivers have room, where receivers check packets by
        hashes that were sent before them (hosts/wire/tree); None: they do not."""
        return None

    @abstractmethod
    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        """Append up to `send_space` bytes to the stream. Raises ValueError beyond that or after `finish`."""

    def offer(self, content: bytes, size: int) -> None:
        """What will be sent, for receivers that ask before they join, and its size, bytes; before `start`."""

    def change(self, change: FileChange, *, now: float) -> Sequence[Effect]:
        """Other files are sent from now on: of a protocol that takes them by place (`Protocol.takes_files`)."""
        raise NotImplementedError

    @abstractmethod
    def start_now(self, *, now: float) -> Sequence[Effect]:
        """Wait for no more receivers: begin with those that have joined. Nothing when none has, or it has begun."""

    @abstractmethod
    def finish(self, *, now: float) -> Sequence[Effect]:
        """The stream ends here. SessionEnded follows when every receiver has confirmed it or was dropped."""


class ReceiverEndpoint(Endpoint):
    """A member of a session; it may also serve other receivers as an agent."""

    def check_by(self, checker: TreeChecker) -> None:
        """Told before `start`, where the stream is to be checked: endpoints that can take nothing that it refuses."""

    @property
    def repaired_within_s(self) -> float:
        """So long after it was sent a packet of real-time data may still come out of repairs, as far as is known."""
        return 0.0

    @abstractmethod
    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        """The application is through with `count` delivered bytes: their buffer is free again."""

    def holds(self, size: int, *, now: float) -> Sequence[Effect]:
        """The application's answer to Offered: so many of the first bytes are here."""
        return ()

    @abstractmethod
    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        """The application's answer to StreamEnded (or earlier, when it cannot go on): is what it got right?"""
