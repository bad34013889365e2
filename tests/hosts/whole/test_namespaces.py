"""The commands on hosts of their own: two network namespaces and a wire. Needs root."""

import os
import re
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import wait_for

ROOT = Path(__file__).parents[3]
ETH_P_IP = 0x0800

pytestmark = pytest.mark.root


class Wire:
    """Namespaces `left` (10.9.0.1) and `right` (10.9.0.2), joined by a veth pair. No default routes."""

    def __init__(self) -> None:
        tag = uuid.uuid4().hex[:6]
        self.left, self.right = f"canopy-l-{tag}", f"canopy-r-{tag}"
        for name in (self.left, self.right):
            _ip("netns", "add", name)
        _ip("-n", self.left, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", self.right)
        for name, address in ((self.left, "10.9.0.1/24"), (self.right, "10.9.0.2/24")):
            _ip("-n", name, "address", "add", address, "dev", "wire")
            _ip("-n", name, "link", "set", "wire", "up")

    def start(self, namespace: str, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, "-m", "hosts.programs.cli", *command],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )

    def remove(self) -> None:
        for name in (self.left, self.right):
            subprocess.run(["ip", "netns", "delete", name], check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    try:
        yield made
    finally:
        made.remove()


class Ear:
    """Listens to all IPv4 frames on the left end of the wire, from a thread that lives in that namespace."""

    def __init__(self, namespace: str) -> None:
        self.frames: list[bytes] = []
        self._ready = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(namespace,))
        self._thread.start()
        assert self._ready.wait(10)

    def _listen(self, namespace: str) -> None:
        with open(f"/run/netns/{namespace}") as handle:
            _setns(handle.fileno())
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP)) as sock:
            sock.bind(("wire", ETH_P_IP))
            sock.settimeout(0.05)
            self._ready.set()
            while not self._stop.is_set():
                try:
                    self.frames.append(sock.recv(2000))
                except TimeoutError:
                    continue

    def records(self, group: str) -> list[tuple[int, list[str]]]:
        """The records about a group in all IGMPv3 reports heard so far: (type, sources)."""
        return [
            (kind, sources)
            for frame in list(self.frames)
            for kind, address, sources in igmpv3_records(frame)
            if address == group
        ]

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def igmpv3_records(frame: bytes) -> list[tuple[int, str, list[str]]]:
    """(type, group, sources) of each record of an Ethernet frame's IGMPv3 report (RFC 3376, 4.2)."""
    ip = frame[14:]
    report = ip[(ip[0] & 0xF) * 4 :]
    if ip[9] != socket.IPPROTO_IGMP or report[0] != 0x22:
        return []
    records = []
    at = 8
    for _ in range(int.from_bytes(report[6:8], "big")):
        kind, auxiliary_words, count = report[at], report[at + 1], int.from_bytes(report[at + 2 : at + 4], "big")
        addresses = [socket.inet_ntoa(report[at + 4 + 4 * i : at + 8 + 4 * i]) for i in range(1 + count)]
        records.append((kind, addresses[0], addresses[1:]))
        at += 8 + 4 * (count + auxiliary_words)
    return records


def _setns(descriptor: int) -> None:
    """Move the calling thread into a network namespace (os.setns is there from Python 3.12 on)."""
    import ctypes

    clone_newnet = 0x40000000  # linux/sched.h
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, clone_newnet) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def test_a_file_over_a_wire(wire: Wire, tmp_path: Path) -> None:
    """Neither side has a route to the group; the only interface is taken. The kernel's reports say join and leave."""
    file = tmp_path / "file.bin"
    file.write_bytes(os.urandom(400_000))
    common = ["--group", "232.5.5.5", "--port", "5005"]
    joined, left = (5, ["10.9.0.1"]), (6, ["10.9.0.1"])  # ALLOW_NEW_SOURCES, BLOCK_OLD_SOURCES (RFC 3376, 4.2.12)
    ear = Ear(wire.left)
    try:
        receiver = wire.start(wire.right, "recv", *common, "--source", "10.9.0.1", "-o", str(tmp_path / "in"))
        sender = wire.start(wire.left, "send", str(file), *common, "--wait", "30")
        _, errors = sender.communicate(timeout=60)
        assert sender.returncode == 0, errors
        _, errors = receiver.communicate(timeout=60)
        assert receiver.returncode == 0, errors
        wait_for(lambda: left in ear.records("232.5.5.5"), "the kernel reports the leave")
        assert joined in ear.records("232.5.5.5")
    finally:
        ear.stop()
    assert (tmp_path / "in" / "file.bin").read_bytes() == file.read_bytes()


def test_a_carousel_over_a_wire(wire: Wire, tmp_path: Path) -> None:
    """WEBRC's waves are groups of their own, (source, group) each: the kernel joins and leaves them one by one, and a
    receiver that comes late ends like the first. The sender goes on until it is stopped."""
    file = tmp_path / "file.bin"
    file.write_bytes(os.urandom(100_000))
    common = ["--protocol", "webrc", "--group", "232.6.0.0", "--port", "5006"]
    for setting in ("session_rate_bps=2e6", "base_rate=5", "slot_s=2", "quiescence_s=10", "epoch_s=0.1"):
        common += ["--set", setting]
    ear = Ear(wire.left)
    sender = wire.start(wire.left, "send", str(file), *common)
    try:
        for folder in ("first", "late"):
            arguments = ["recv", *common, "--source", "10.9.0.1", "-o", str(tmp_path / folder)]
            receiver = wire.start(wire.right, *arguments)
            _, errors = receiver.communicate(timeout=60)
            assert receiver.returncode == 0, errors
            assert (tmp_path / folder / "file.bin").read_bytes() == file.read_bytes()
        assert sender.poll() is None
        groups = [f"232.6.0.{channel}" for channel in range(30)]
        joined, left = (5, ["10.9.0.1"]), (6, ["10.9.0.1"])
        heard = [group for group in groups if joined in ear.records(group)]
        assert "232.6.0.0" in heard  # the base channel
        assert len(heard) >= 4
        wait_for(lambda: all(left in ear.records(group) for group in heard), "the kernel reports every leave")
    finally:
        sender.terminate()
        sender.communicate(timeout=20)
        ear.stop()


def _room(folder: Path, name: str) -> int:
    """Bytes of the disk that a file's part takes (stat(2): in blocks of 512)."""
    return sum(part.stat().st_blocks * 512 for part in folder.glob(f".{name}.part-*"))


def test_a_folder_that_meets_a_full_disk_is_resumed(wire: Wire, tmp_path: Path) -> None:
    """What the disk has taken is kept, and comes only once."""
    sent, disk = tmp_path / "sent", tmp_path / "disk"
    sent.mkdir()
    disk.mkdir()
    for index in range(20):
        (sent / f"small-{index}").write_bytes(os.urandom(1000))
    (sent / "large").write_bytes(os.urandom(20 << 20))
    common = ["--group", "232.5.5.6", "--port", "5006"]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)], check=True)
    try:
        arguments = ["recv", *common, "--source", "10.9.0.1", "--resume", "-o", str(disk / "in")]
        for step in range(2):
            receiver = wire.start(wire.right, *arguments)
            sender = wire.start(wire.left, "send", str(sent), *common, "--wait", "30")
            if step == 0:
                wait_for(lambda: _room(disk / "in" / "sent", "large") >= 20 << 20, "the large file has its room")
                with suppress(OSError):  # all but the room of the large one, which the disk keeps
                    (disk / "ballast").write_bytes(bytes(14 << 20))  # statvfs has said that there is room
            _, sender_says = sender.communicate(timeout=60)
            _, says = receiver.communicate(timeout=60)
            assert (sender.returncode, receiver.returncode) == ((1, 2) if step == 0 else (0, 0)), says + sender_says
            if step == 0:
                assert re.search(r"small-\d+: cannot write: No space left on device", says)
                assert (disk / "in" / "sent" / "large").read_bytes() == (sent / "large").read_bytes()
                (disk / "ballast").unlink()
                subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert "of them were here" in says
        for path in sent.iterdir():
            assert (disk / "in" / "sent" / path.name).read_bytes() == path.read_bytes()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize(("side", "arrives"), [("left", True), ("right", False)])
def test_an_mtu_falls_in_the_middle(side: str, arrives: bool, wire: Wire, tmp_path: Path) -> None:
    """The sender's own kernel sends what is too long in parts. What vanishes on the way nobody tells: the sender's user
    hears what it may be, and the session ends."""
    file = tmp_path / "file.bin"
    file.write_bytes(os.urandom(6_000_000))
    common = ["--group", "232.5.5.7", "--port", "5007", "--set", "drop_after_s=7"]
    receiver = wire.start(wire.right, "recv", *common, "--source", "10.9.0.1", "-o", str(tmp_path / "in"))
    sender = wire.start(wire.left, "send", str(file), *common, "--wait", "30", "--rate-limit", "20e6")
    inside = tmp_path / "in"
    wait_for(lambda: sum(path.stat().st_size for path in inside.glob(".*")) > 100_000, "some of it arrives")
    _ip("-n", getattr(wire, side), "link", "set", "wire", "mtu", "1300")
    _, errors = sender.communicate(timeout=60)
    receiver.communicate(timeout=60)
    assert ("no data have reached" in errors) != arrives
    assert sender.returncode == receiver.returncode == (0 if arrives else 1), errors
    if arrives:
        assert (inside / "file.bin").read_bytes() == file.read_bytes()
    else:
        assert "made no progress for too long" in errors
        assert list(inside.iterdir()) == []
