"""A daemon and its senders in one event loop, on loopback."""

import asyncio
import contextlib
import fcntl
import json
import multiprocessing
import os
import random
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address, SessionEnded
from hosts.programs.daemon import Daemon, Service
from hosts.programs.daemon_metrics import serve_metrics
from hosts.programs.driver import Plan
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.programs.policy import Policy
from hosts.programs.progress import Display
from hosts.protocol import Protocol, Session
from hosts.runtime.runtime import Runtime
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason
from tests.hosts.runtime.test_runtime import free_port
from tests.hosts.runtime.test_sockets import LOOPBACK

MTCP = protocols.get("mtcp")


def service(folder: Path, group: Address, policy: Policy | None = None, status: Path | None = None) -> Service:
    plan = Plan(MTCP, Session(group), {}, random.Random(1), None)
    return Service(plan, policy or Policy(folder), LOOPBACK, max_sessions=2, status=status)


async def send(path: Path, group: Address, session: int, name: str, protocol: Protocol[Any] = MTCP) -> SessionEnded:
    endpoint = protocol.sender(Session(group, None, session), random.Random(session))
    return await Runtime(endpoint, LOOPBACK, source=FileSource(path, name)).run()


def serve(wanted: Service, body: Callable[[Daemon], Awaitable[object]], number: int = signal.SIGTERM) -> Daemon:
    """Run the daemon while the body does, then end it by a signal."""

    async def run() -> Daemon:
        daemon = Daemon(wanted, Display(quiet=True))
        running = asyncio.ensure_future(daemon.run())
        await asyncio.sleep(0)
        if not running.done():
            await body(daemon)
            os.kill(os.getpid(), number)
        assert await running == number
        return daemon

    return asyncio.run(run())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(random.Random(1).randbytes(50_000))
    return path


def test_sessions_at_once_and_one_after_the_other(folder: Path, file: Path, tmp_path: Path) -> None:
    group = Address("232.9.9.1", free_port())
    status = tmp_path / "status.json"

    async def body(daemon: Daemon) -> None:
        together = await asyncio.gather(send(file, group, 1, "one"), send(file, group, 2, "two"))
        later = await send(file, group, 3, "three")
        taken = await send(file, group, 4, "one")
        assert [end.complete for end in (*together, later, taken)] == [True, True, True, False]
        while daemon.sessions:
            await asyncio.sleep(0.01)

    daemon = serve(service(folder, group, status=status), body)
    assert sorted(os.listdir(folder)) == ["one", "three", "two"]
    assert all((folder / name).read_bytes() == file.read_bytes() for name in os.listdir(folder))
    read = json.loads(status.read_text())
    assert (read["state"], read["received"], read["refused"], read["failed"]) == ("stopped", 3, 1, 0)
    assert read["received_bytes"] == daemon.received_bytes == 150_000
    assert read["sessions"] == []


def test_the_policy_refuses(folder: Path, file: Path) -> None:
    group = Address("232.9.9.2", free_port())

    async def body(daemon: Daemon) -> None:
        ends = [await send(file, group, number, name) for number, name in enumerate(("a.txt", "b.bin"), 1)]
        assert [end.complete for end in ends] == [False, True]
        assert Reason.REFUSED_FILE.text in ends[0].reason

    serve(service(folder, group, Policy(folder, patterns=("*.bin",))), body)
    assert os.listdir(folder) == ["b.bin"]


HAVE_BYTES = 1_000_000
"""So much, and nobody is let in any more: more than START_BYTES of a stream, and than one block after START_BLOCKS."""


def part_bytes(folder: Path) -> int:
    """How much of a file a folder has that has nothing else."""
    return sum(path.stat().st_size for path in folder.iterdir())


class SlowDisk(FileSource):
    """Of 8 Mbit/s, for protocols that have no limit of their own. It is read in a thread."""

    def read(self, space: int) -> bytes:
        time.sleep(0.02)
        return super().read(min(space, 20_000))


def run_alone(wanted: Service) -> None:
    """As a program of its own does."""

    async def run() -> None:
        await Daemon(wanted, Display(quiet=True)).run()

    asyncio.run(run())


@pytest.mark.parametrize("name", ["mtcp", "rla", "tfmcc"])
def test_a_session_goes_on_without_a_daemon_that_was_killed_and_the_next_has_it_again(
    name: str, folder: Path, tmp_path: Path
) -> None:
    """A running session refuses the one that begins anew, serves the others, and names who is missing."""
    protocol = protocols.get(name)
    group = Address("232.9.9.10", free_port())
    file = tmp_path / "file"
    file.write_bytes(random.Random(1).randbytes(3_000_000))
    other = tmp_path / "other"
    other.mkdir()
    wanted = Service(Plan(protocol, Session(group), {}, random.Random(1), None), Policy(folder), LOOPBACK)
    victim = multiprocessing.get_context("fork").Process(target=run_alone, args=[wanted], daemon=True)
    victim.start()

    async def run() -> None:
        receiver = protocol.receiver(Session(group), random.Random(2))
        receiving = asyncio.ensure_future(Runtime(receiver, LOOPBACK, sink=FileSink(other)).run())
        sender = protocol.sender(Session(group, None, 1, receivers=2), random.Random(1), {"drop_after_s": 4.0})
        sending = asyncio.ensure_future(Runtime(sender, LOOPBACK, content=SlowDisk(file)).run())
        while min(part_bytes(folder), part_bytes(other)) < HAVE_BYTES:
            await asyncio.sleep(0.01)
        victim.kill()
        victim.join()
        assert len(os.listdir(folder)) == 1
        daemon = Daemon(wanted, Display(quiet=True))
        running = asyncio.ensure_future(daemon.run())
        while not daemon.tally.results["failed"]:
            await asyncio.sleep(0.01)
        assert os.listdir(folder) == []
        end = await sending
        assert not end.complete
        assert "silent" in end.reason
        await receiving
        assert (await send(file, group, 2, "file", protocol)).complete
        while daemon.sessions:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        await running
        assert dict(daemon.tally.results) == {"failed": 1, "received": 1}

    try:
        asyncio.run(run())
    finally:
        victim.kill()
    assert (folder / "file").read_bytes() == (other / "file").read_bytes() == file.read_bytes()


def test_a_signal_in_mid_session_leaves_nothing_behind(folder: Path, tmp_path: Path) -> None:
    group = Address("232.9.9.3", free_port())
    large = tmp_path / "large"
    large.write_bytes(bytes(20_000_000))

    async def body(daemon: Daemon) -> None:
        sending = asyncio.ensure_future(send(large, group, 1, "large"))
        while not any(folder.iterdir()):
            await asyncio.sleep(0.01)
        asyncio.get_running_loop().call_soon(sending.cancel)

    serve(service(folder, group), body, signal.SIGINT)
    assert os.listdir(folder) == []


def test_leftovers_of_the_killed_are_removed_and_of_the_living_are_not(folder: Path) -> None:
    for name in (".a.part-01234567", ".b.part-01234567", ".c.part", "d.part-01234567"):
        (folder / name).write_text("half")

    async def body(daemon: Daemon) -> None: ...

    with (folder / ".b.part-01234567").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        serve(service(folder, Address("232.9.9.4", free_port())), body)
    assert sorted(os.listdir(folder)) == [".b.part-01234567", ".c.part", "d.part-01234567"]


def test_a_folder_has_one_daemon(folder: Path) -> None:
    async def body(daemon: Daemon) -> None:
        with pytest.raises(FileError, match="another daemon"):
            await Daemon(service(folder, Address("232.9.9.6", free_port())), Display(quiet=True)).run()

    serve(service(folder, Address("232.9.9.5", free_port())), body)


def test_noise_is_no_session(folder: Path) -> None:
    """Datagrams that are none of the protocol's begin nothing; those of no sender that lets us in take their place for
    a while only, and no more than there are places."""
    group = Address("232.9.9.7", free_port())

    async def body(daemon: Daemon) -> None:
        daemon.sessions.clear()
        noise = random.Random(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            for size in (0, 1, 8, 1400):
                sock.sendto(b"\xff" * size, group)
            await asyncio.sleep(0.1)
            assert daemon.sessions == {}
            for number in range(50):
                sock.sendto(bytes((1, MTCP.number, 1, 0)) + number.to_bytes(4, "big") + noise.randbytes(60), group)
            await asyncio.sleep(0.1)
            assert len(daemon.sessions) == 2

    serve(service(folder, group), body)
    assert os.listdir(folder) == []


@contextlib.contextmanager
def systemd(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        yield listener


def test_systemd_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(daemon: Daemon) -> None:
        await asyncio.sleep(0.05)

    told = []
    with systemd(tmp_path / "notify", monkeypatch) as listener:
        serve(service(folder, Address("232.9.9.8", free_port())), body)
        while True:
            try:
                told.append(listener.recv(4096).decode())
            except BlockingIOError:
                break
    ready = next(text for text in told if text.startswith("READY=1\n"))
    assert ready.endswith("at 127.0.0.1 (lo)")
    assert "WATCHDOG=1" in told
    assert told[-1] == "STOPPING=1"


def test_metrics(folder: Path) -> None:
    async def body(daemon: Daemon) -> None:
        daemon.tally.results["received"] = 3
        daemon.tally.last_file_at = 12.5
        reader, writer = await asyncio.open_connection("127.0.0.1", serve_metrics(daemon, "127.0.0.1", 0))
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = (await reader.read()).decode()
        assert 'canopy_receiver_files_total{result="received"} 3.0' in text
        assert "canopy_receiver_last_file_timestamp_seconds 12.5" in text
        assert "process_resident_memory_bytes" in text
        writer.close()

    serve(service(folder, Address("232.9.9.9", free_port())), body)
