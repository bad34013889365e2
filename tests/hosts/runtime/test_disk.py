"""Threads beside the loop: order, bounds, and disks that stand still or fail."""

import threading

import pytest

from hosts.runtime import disk
from hosts.runtime.disk import ReadAhead, WriteBehind
from hosts.wire.manifest import FileError
from tests.hosts.recorder import FullSink, ListSink


class Numbers:
    """A source of so many bytes, which counts what is read."""

    def __init__(self, size: int, fails_at: int | None = None) -> None:
        self.data = bytes(index % 251 for index in range(size))
        self.at = 0
        self.fails_at = fails_at

    def read(self, space: int) -> bytes:
        if self.fails_at is not None and self.at >= self.fails_at:
            raise FileError("gone")
        piece = self.data[self.at : self.at + min(space, 100)]
        self.at += len(piece)
        return piece

    @property
    def exhausted(self) -> bool:
        return self.at == len(self.data)

    def begin(self, first: int) -> None:
        self.at = first


def test_what_is_read_ahead_comes_in_order_and_no_more_than_may() -> None:
    source, told = Numbers(5000), threading.Event()
    ahead = ReadAhead(source, told.set)
    assert ahead.read(10) == b""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "AHEAD_BYTES", 300)
        ahead.start()
        assert told.wait(10)
        got = bytearray()
        while not ahead.exhausted:
            piece = ahead.read(70)
            got += piece
            assert source.at - len(got) <= 400
            if not piece:
                assert told.wait(10)
            told.clear()
    assert got == source.data
    ahead.close()


def test_the_thread_is_woken_when_half_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each piece it would take turns with the loop, which then waits for it."""
    monkeypatch.setattr(disk, "AHEAD_BYTES", 400)
    source, told = Numbers(5000), threading.Event()
    ahead = ReadAhead(source, told.set)
    ahead.read(1)
    ahead.start()
    assert told.wait(10)
    woken = []
    monkeypatch.setattr(ahead._changed, "notify", lambda: woken.append(source.at))
    while source.at < 400:  # the thread fills it
        told.wait(0.001)
    assert [bool(ahead.read(100) and woken) for _ in range(3)] == [False, True, True]
    monkeypatch.undo()
    ahead.close()


def test_a_source_that_fails_does_so_in_its_place() -> None:
    told = threading.Event()
    ahead = ReadAhead(Numbers(500, fails_at=200), told.set)
    ahead.read(1)
    ahead.start()
    assert told.wait(10)
    size = 0
    while size < 200:
        size += len(ahead.read(1000))
    ahead.close()
    with pytest.raises(FileError, match="gone"):
        ahead.read(1000)


class StuckSink(ListSink):
    """A disk that stands still until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def write(self, data: bytes) -> None:
        assert self.go_on.wait(10)
        super().write(data)


def test_a_disk_that_stands_still_holds_up_the_session_not_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "BEHIND_BYTES", 1000)
    sink, told = StuckSink(), threading.Event()
    behind = WriteBehind(sink, told.set)
    for index in range(20):
        behind.write(bytes([index]) * 100)
    assert behind.excess == 1000
    assert not told.is_set()
    sink.go_on.set()
    assert told.wait(10)
    behind.finish()
    assert behind.excess == 0
    assert sink.data == b"".join(bytes([index]) * 100 for index in range(20))
    assert sink.is_finished
    behind.close()


class SyncingSink(StuckSink):
    """Files of 100 bytes, each of which takes the disk 0.03 s of a clock of its own; ten are written in a moment."""

    quick_bytes = 1000

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.most = 0

    def write(self, data: bytes) -> None:
        super().write(data)
        self.most = max(self.most, len(data))
        self.now += len(data) / 100 * 0.03


def test_a_disk_that_syncs_many_files_tells_by_and_by_what_it_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "LEAST_PIECE_BYTES", 100)
    sink = SyncingSink()
    told: list[tuple[float, int]] = []
    behind = WriteBehind(sink, lambda: told.append((sink.now, behind.excess)), clock=lambda: sink.now)
    data = bytes(range(250)) * 80
    behind.write(data)
    assert behind.excess == 19_000, "what is not written in a moment takes the receiver's buffer"
    sink.go_on.set()
    behind.finish()
    behind.close()
    assert sink.data == data
    assert sink.most == 1000, "a large piece is cut"
    assert [excess for _, excess in told] == [max(0, 19_000 - 1000 * number) for number in range(1, 21)]
    assert [now for now, _ in told] == pytest.approx([0.3 * number for number in range(1, 21)])


def test_a_full_disk_is_told() -> None:
    told = threading.Event()
    behind = WriteBehind(FullSink(), told.set)
    behind.write(b"x")
    assert told.wait(10)
    assert str(behind.failure) == "full"
    with pytest.raises(FileError, match="full"):
        behind.write(b"y")
    with pytest.raises(FileError, match="full"):
        behind.finish()
    behind.close()


def test_what_else_a_sink_raises_is_raised_in_the_loop() -> None:
    class Broken(ListSink):
        def write(self, data: bytes) -> None:
            raise ZeroDivisionError

    told = threading.Event()
    behind = WriteBehind(Broken(), told.set)
    behind.write(b"x")
    assert told.wait(10)
    with pytest.raises(ZeroDivisionError):
        assert behind.failure
    behind.close()
