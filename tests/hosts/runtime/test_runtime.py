"""The asyncio runtime on loopback: two endpoints' worth of sockets, timers and files."""

import asyncio
import random
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from hosts import protocols
from hosts.application import Sink
from hosts.endpoint import Address, Datagram, Effect, Endpoint, Event, Send, SendRun, SessionEnded
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.protocol import Session
from hosts.runtime.datagrams import BATCH, Outbox
from hosts.runtime.runtime import Runtime
from hosts.runtime.sockets import Interface, SocketError, open_unicast
from hosts.wire.manifest import FileError
from tests.hosts.runtime.test_sockets import LOOPBACK

MTCP = protocols.get("mtcp")


def free_port() -> int:
    """A UDP port that nobody has now."""
    with open_unicast(LOOPBACK) as sock:
        port: int = sock.getsockname()[1]
    return port


async def transfer(
    path: Path, sinks: list[Sink], group: Address, *, source: str | None = "127.0.0.1"
) -> list[SessionEnded]:
    """Send a file on loopback; the ends of the sender and of each receiver."""
    send = Runtime(
        MTCP.sender(Session(group, None, 7, len(sinks), 10.0), random.Random(1)), LOOPBACK, source=FileSource(path)
    )
    receivers = [
        Runtime(MTCP.receiver(Session(group, source), random.Random(index)), LOOPBACK, sink=sink)
        for index, sink in enumerate(sinks)
    ]
    return list(await asyncio.gather(send.run(), *(receiver.run() for receiver in receivers)))


@pytest.mark.parametrize("source", [None, "127.0.0.1"])
def test_a_file_to_three_receivers(tmp_path: Path, source: str | None) -> None:
    path = tmp_path / "file"
    path.write_bytes(random.Random(1).randbytes(500_000))
    sinks: list[Sink] = [FileSink(tmp_path / str(index)) for index in range(3)]
    ends = asyncio.run(transfer(path, sinks, Address("232.8.8.1", free_port()), source=source))
    assert all(end.complete for end in ends)
    for index in range(3):
        assert (tmp_path / str(index) / "file").read_bytes() == path.read_bytes()


def test_a_receiver_that_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(random.Random(1).randbytes(500_000))
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "file").write_text("mine")
    sinks: list[Sink] = [FileSink(taken), FileSink(tmp_path / "free")]
    ends = asyncio.run(transfer(path, sinks, Address("232.8.8.2", free_port())))
    assert [end.complete for end in ends] == [False, False, True]
    assert "the file is refused" in ends[0].reason
    assert (taken / "file").read_text() == "mine"


def test_stopping() -> None:
    events: list[Event] = []
    ticks: list[float] = []

    async def run() -> SessionEnded:
        group = Address("232.8.8.3", free_port())
        runtime = Runtime(MTCP.receiver(Session(group), random.Random(1)), LOOPBACK, on_event=events.append)

        def tick(now: float) -> None:
            ticks.append(now)
            if len(ticks) == 3:
                asyncio.get_running_loop().call_soon(runtime.stop, "enough")

        runtime.every(0.01, tick)
        async with asyncio.timeout(30):
            return await runtime.run()

    end = asyncio.run(run())
    assert end == SessionEnded(False, "enough")
    assert events == [end]
    assert len(ticks) > 2


def test_a_sender_that_still_reads_its_file_can_be_stopped(tmp_path: Path) -> None:
    """For the packets' hashes, in a thread; the endpoint has not begun, and nobody has heard of it."""
    (tmp_path / "file").write_bytes(bytes(5000))

    class Slow(FileSource):
        def read(self, space: int) -> bytes:
            reading.set()
            assert stopped.wait(10)
            return super().read(space)

    async def run() -> tuple[SessionEnded, str]:
        endpoint = MTCP.sender(Session(Address("232.8.8.8", free_port())), random.Random(1))
        runtime = Runtime(endpoint, LOOPBACK, content=Slow(tmp_path / "file"))
        task = asyncio.create_task(runtime.run())
        while not reading.is_set():  # the loop goes on meanwhile
            await asyncio.sleep(0.001)
        runtime.stop("enough")
        stopped.set()
        return await task, str(endpoint.sample(now=0.0)["state"])

    reading, stopped = threading.Event(), threading.Event()
    assert asyncio.run(run()) == (SessionEnded(False, "enough"), "waiting")


def test_a_file_that_cannot_be_read_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(5000))
    source = FileSource(tmp_path / "file")
    (tmp_path / "file").unlink()
    endpoint = MTCP.sender(Session(Address("232.8.8.9", free_port())), random.Random(1))

    async def run() -> SessionEnded:
        return await Runtime(endpoint, LOOPBACK, content=source).run()

    with pytest.raises(FileError, match="No such file"):
        asyncio.run(run())


def test_two_members_leave_nothing_behind(tmp_path: Path) -> None:
    """The same port serves again at once."""
    path = tmp_path / "file"
    path.write_bytes(b"small")
    group = Address("232.8.8.4", free_port())
    for index in range(3):
        sink: Sink = FileSink(tmp_path / str(index))
        assert all(end.complete for end in asyncio.run(transfer(path, [sink], group)))


def test_what_a_callback_raises_ends_the_run(tmp_path: Path) -> None:
    class Broken:
        def write(self, data: bytes) -> None:
            raise RuntimeError("a bug")

        def finish(self) -> None: ...

    path = tmp_path / "file"
    path.write_bytes(b"small")

    async def run() -> None:
        group = Address("232.8.8.7", free_port())
        sender = Runtime(MTCP.sender(Session(group), random.Random(1)), LOOPBACK, source=FileSource(path))
        receiver = Runtime(MTCP.receiver(Session(group), random.Random(1)), LOOPBACK, sink=Broken())
        task = asyncio.create_task(sender.run())
        try:
            await receiver.run()
        finally:
            sender.stop("over")
            await task

    with pytest.raises(RuntimeError, match="a bug"):
        asyncio.run(run())


class Echo(Endpoint):
    """Answers each datagram, and ends after so many."""

    def __init__(self, datagrams: int) -> None:
        self.counters = {}
        self.left = datagrams

    @property
    def session_id(self) -> int | None:
        return None

    @property
    def wake_at(self) -> float | None:
        return None

    @property
    def closed(self) -> bool:
        return self.left == 0

    def start(self, *, now: float) -> Sequence[Effect]:
        return ()

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return ()

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return ()

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self.left -= 1
        answer = Send(datagram.data, datagram.source)
        return [answer, SessionEnded(True, "")] if self.left == 0 else [answer]


def test_answers_to_what_is_read_together_leave_together(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    class CountingOutbox(Outbox):
        def send(self, sends: Sequence[Send | SendRun]) -> bool:
            sent.append(len(sends))
            return super().send(sends)

    monkeypatch.setattr("hosts.runtime.runtime.Outbox", CountingOutbox)
    datagrams = [bytes([number]) * 20 for number in range(BATCH + 5)]

    async def run(peer: socket.socket) -> SessionEnded:
        runtime = Runtime(Echo(len(datagrams)), LOOPBACK)
        for datagram in datagrams:
            peer.sendto(datagram, runtime.address)
        return await runtime.run()

    with open_unicast(LOOPBACK) as peer:
        assert asyncio.run(run(peer)).complete
        assert [peer.recv(100) for _ in datagrams] == datagrams
    assert sent == [BATCH, 5]


@pytest.mark.parametrize(("given", "remedy"), [(5000, "sysctl net.core.rmem_max"), (1 << 30, "too busy")])
def test_what_this_machine_drops_is_told_from_the_networks_losses(
    monkeypatch: pytest.MonkeyPatch, given: int, remedy: str
) -> None:
    monkeypatch.setattr("hosts.runtime.sockets.size_receive_buffer", lambda sock: given)
    warnings: list[str] = []

    async def run(peer: socket.socket) -> int:
        runtime = Runtime(Echo(10), LOOPBACK, on_warning=warnings.append)
        runtime._unicast.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stop = asyncio.create_task(runtime.run())
        await asyncio.sleep(0)
        for _ in range(20):  # nobody reads meanwhile
            peer.sendto(bytes(1000), runtime.address)
        await asyncio.sleep(0.01)
        for _ in range(10):
            peer.sendto(b"x", runtime.address)
        await stop
        return runtime.counters["kernel_drops"]

    with open_unicast(LOOPBACK) as peer:
        assert 0 < asyncio.run(run(peer)) < 20
    (warning,) = [text for text in warnings if "drops" in text]
    assert remedy in warning


def test_a_group_that_cannot_be_joined() -> None:
    async def run() -> None:
        await Runtime(MTCP.receiver(Session(Address("192.0.2.200", 5000)), random.Random(1)), LOOPBACK).run()

    with pytest.raises(SocketError, match="cannot open"):
        asyncio.run(run())


def test_an_address_that_is_not_ours() -> None:
    async def run() -> None:
        Runtime(MTCP.receiver(Session(Address("232.8.8.5", 5000)), random.Random(1)), Interface("192.0.2.200"))

    with pytest.raises(SocketError, match="cannot open UDP port"):
        asyncio.run(run())
