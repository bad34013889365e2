"""What a broadcast costs: a carousel at a given rate, and a receiver of it that loses packets, each on one core.

Sender and receiver are the whole ones, with files on disk, and what is sent leaves through a socket of this machine.
The sender works in real time, its encoders' thread on the same core, and sleeps for whole milliseconds, as epoll lets
programs: nothing else should run meanwhile. A packet is as late as the call that sends it returns after it was due. The
receiver, of which all packets of a millisecond come together, as its sockets give them to it, and once more one by one,
hears another sender, which is never late: what one leaves out, being too slow, would be loss to it, which it
would answer with a rate at which it never ended. Network and receiver are without delay, so that WEBRC's equation
allows the receiver all that is sent.
"""

import gc
import math
import os
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

from experiments.figures.bench import Figure
from hosts.endpoint import (
    Address,
    Compute,
    Datagram,
    DatagramRun,
    Effect,
    JoinGroup,
    LeaveGroup,
    Send,
    SendRun,
    SessionEnded,
)
from hosts.programs.shelf import FolderShelf, content_of_file
from hosts.protocol import Session
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.sender import WebrcSender
from hosts.protocols.webrc.together import TogetherReceiver
from hosts.runtime.datagrams import RUN_BYTES, Outbox
from hosts.runtime.elsewhere import patient_thread
from hosts.storage import FileChange

RATE_BPS: Final = 1e9
LATE_MS: Final = 10.0
RECEIVED_MBPS: Final = 500.0
LOSS: Final = 0.01
SENT_S: Final = 20.0
"""Of the schedule that is measured of the sender."""
WAKE_S: Final = 1e-3
"""A program sleeps for whole milliseconds (epoll_wait(2))."""
RUN_PACKETS: Final = 46
"""Of 1,400 bytes, that the kernel puts together at most (64 KiB)."""
PEER: Final = "flute-alc"
PEER_BYTES: Final = 20_000_000
"""Of the file, for the peer: its Reed-Solomon code takes no more than 22,848,000."""
_GROUP: Final = Address("232.255.77.0", 5077)
_SENDER: Final = Address("127.0.0.1", 5078)
_SEED: Final = 1


@dataclass(slots=True)
class _Cost:
    """Processor seconds of one side, and the bytes of symbols that it had."""

    seconds: float = 0.0
    octets: int = 0

    @property
    def mbps(self) -> float:
        return self.octets * 8e-6 / self.seconds if self.seconds else 0.0


def measure(megabytes: int) -> list[Figure]:
    """Of a file of so many megabytes. RuntimeError: a receiver has not got it."""
    with tempfile.TemporaryDirectory(prefix="canopy-bench-") as folder:
        path = Path(folder) / "file"
        data = random.Random(_SEED)
        with path.open("wb") as file:
            for _ in range(megabytes):
                file.write(data.randbytes(1_000_000))
        part = Path(folder) / "part"
        with path.open("rb") as file:
            part.write_bytes(file.read(PEER_BYTES))
        late_s, skipped, sent = _sent(path)
        taken = []
        for together in (True, False):
            with tempfile.TemporaryDirectory(dir=folder) as received:
                taken.append(_taken(path, Path(received), together=together))
        (theirs := Path(folder) / "peer").mkdir()
        with _silent():
            peer_sent, peer_taken = _peer(part, theirs)
    goal = RECEIVED_MBPS
    return [
        Figure("latest packet of a carousel of 1 Gbit/s", late_s * 1e3, "ms", LATE_MS, at_most=True),
        Figure("packets left out of it, being too late", skipped, "packets", 0, at_most=True),
        Figure("a sender sends, on a core", sent.mbps, "Mbit/s", RATE_BPS / 1e6, False, PEER, peer_sent.mbps),
        Figure("a receiver decodes, with 1 % loss", taken[0].mbps, "Mbit/s", goal, False, PEER, peer_taken.mbps),
        Figure("likewise, packet by packet", taken[1].mbps, "Mbit/s", goal, False, PEER, peer_taken.mbps),
    ]


class _Receiving:
    """A receiver, and what has come to it."""

    def __init__(self, folder: Path, *, together: bool) -> None:
        """`together`: what comes to a group meanwhile is read at once."""
        self._together = together
        self.cost = _Cost()
        self.groups: set[Address] = set()
        self.end: SessionEnded | None = None
        shelf = FolderShelf(folder, "refuse", lambda manifest, cache: None)
        session = Session(_GROUP, source=_SENDER.host, session=7, shelf=shelf)
        self._endpoint = TogetherReceiver(session, WebrcOptions(session_rate_bps=RATE_BPS), random.Random(_SEED))
        self._losses = random.Random(_SEED)
        self._do(self._endpoint.start(now=0.0))

    def run(self, sends: Sequence[Send], now: float) -> None:
        """What the sender has just sent, less what is lost."""
        come = [send for send in sends if send.destination in self.groups and self._losses.random() >= LOSS]
        coming = _read(come) if self._together else [Datagram(send.data, _SENDER, send.destination) for send in come]
        wake = self._endpoint.wake_at
        receive, receive_run = self._endpoint.receive, self._endpoint.receive_run
        begin = time.process_time()
        found: list[Effect] = []
        for one in coming:
            found += receive(one, now=now) if isinstance(one, Datagram) else receive_run(one, now=now)
        if wake is not None and wake <= now:
            found += self._endpoint.handle_timer(now=now)
        self.cost.seconds += time.process_time() - begin
        self.cost.octets = self._endpoint.received_bytes
        self._do(found)

    def _do(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, JoinGroup):
                self.groups.add(effect.group)
            elif isinstance(effect, LeaveGroup):
                self.groups.discard(effect.group)
            elif isinstance(effect, SessionEnded):
                self.end = effect

    @property
    def is_done(self) -> bool:
        return self.end is not None or self._endpoint.state in ("confirming", "closed")

    @property
    def has_file(self) -> bool:
        return self._endpoint.state == "confirming"


def _read(sends: Sequence[Send]) -> list[Datagram | DatagramRun]:
    """As a receiver reads it: each group has a socket, where the kernel has put together what came one after the other
    and is as long (UDP_GRO)."""
    by_group: dict[Address, list[bytes]] = {}
    for send in sends:
        by_group.setdefault(send.destination, []).append(send.data)
    found: list[Datagram | DatagramRun] = []
    for group, packets in by_group.items():
        for size, alike in groupby(packets, len):
            data = list(alike)
            for at in range(0, len(data), RUN_PACKETS):
                run = data[at : at + RUN_PACKETS]
                is_one = len(run) == 1
                found.append(
                    Datagram(run[0], _SENDER, group) if is_one else DatagramRun(b"".join(run), size, _SENDER, group)
                )
    return found


def _sender(path: Path) -> WebrcSender:
    """One that has begun to send the file."""
    options = WebrcOptions(session_rate_bps=RATE_BPS)
    sender = WebrcSender(Session(_GROUP, _SENDER.host, 7), options, random.Random(_SEED))
    sender.change(FileChange([content_of_file(path)], is_last=True), now=0.0)
    return sender


@contextmanager
def _one_core() -> Iterator[None]:
    """For this process and the threads that it makes meanwhile."""
    had = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(had)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, had)


def _sent(path: Path) -> tuple[float, int, _Cost]:
    """The latest packet's delay in seconds, packets left out, and the sender's cost."""
    sender = _sender(path)
    sender.run_bytes = RUN_BYTES
    latest = now = 0.0
    gc.collect()
    gc.freeze()  # as sessions' programs do (hosts/runtime/clock.py)
    with _one_core(), patient_thread() as thread, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        outbox = Outbox(sock, Counter())
        busy, begin = time.process_time(), time.monotonic()
        while now < SENT_S:
            due = _due(sender)
            if due > now:
                time.sleep(math.ceil((due - now) / WAKE_S) * WAKE_S)
            effects = sender.handle_timer(now=time.monotonic() - begin)
            outbox.send([effect for effect in effects if isinstance(effect, Send | SendRun)])
            now = time.monotonic() - begin
            latest = max(latest, now - due)
            for effect in effects:
                if isinstance(effect, Compute):
                    thread.submit(effect.work)
        busy = time.process_time() - busy
    return latest, _number(sender, now, "skipped_packets"), _Cost(busy, _number(sender, now, "sent_bytes"))


def _due(sender: WebrcSender) -> float:
    """When the sender's next packet is."""
    if sender.wake_at is None:
        raise RuntimeError("the sender has ended")
    return sender.wake_at


def _taken(path: Path, folder: Path, *, together: bool) -> _Cost:
    """The receiver's cost until it has the file."""
    sender, receiving = _sender(path), _Receiving(folder, together=together)
    while not receiving.is_done:
        now = math.ceil(_due(sender) / WAKE_S) * WAKE_S
        effects = sender.handle_timer(now=now)
        receiving.run([effect for effect in effects if isinstance(effect, Send)], now)
        for effect in effects:
            if isinstance(effect, Compute):
                effect.work()
    if not receiving.has_file:
        raise RuntimeError(f"WEBRC's receiver: {receiving.end.reason if receiving.end else 'not whole'}")
    return receiving.cost


def _number(sender: WebrcSender, now: float, name: str) -> int:
    found = sender.sample(now=now)[name]
    assert isinstance(found, int)
    return found


@contextmanager
def _silent() -> Iterator[None]:
    """Without standard output: flute-alc writes to it what it has received."""
    sys.stdout.flush()
    with open(os.devnull, "wb") as nowhere:
        kept = os.dup(1)
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def _peer(path: Path, folder: Path) -> tuple[_Cost, _Cost]:
    """What flute-alc's sender and receiver take for the file with its Reed-Solomon code, a quarter of repair. Nothing
    where it is not installed."""
    try:
        from flute import receiver, sender
    except ImportError:
        return _Cost(), _Cost()
    begin = time.process_time()
    oti = sender.Oti.new_reed_solomon_rs28(1400, 64, 16)
    sending = sender.Sender(5, oti, sender.Config())
    sending.add_file(str(path), 0, "application/octet-stream", None, None)
    sending.publish()
    place = receiver.UDPEndpoint(_GROUP.host, _GROUP.port, _SENDER.host)
    taking = receiver.MultiReceiver(receiver.ObjectWriterBuilder(str(folder)), receiver.Config())
    losses = random.Random(_SEED)
    sent, taken = _Cost(time.process_time() - begin), _Cost()
    while True:
        begin = time.process_time()
        packet = sending.read()
        sent.seconds += time.process_time() - begin
        if packet is None:
            return sent, taken
        data = bytes(packet)
        sent.octets += len(data)
        if losses.random() < LOSS:
            continue
        begin = time.process_time()
        taking.push(place, data)
        taken.seconds += time.process_time() - begin
        taken.octets += len(data)
