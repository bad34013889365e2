"""With real pipes; what a reader takes its time for is a time that the test sets."""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace

import pytest

from hosts.programs import output as module
from hosts.programs.output import QUEUE_BYTES, WRITE_BYTES, Output


class Pipe:
    """A pipe to write to, and whoever reads it."""

    def __init__(self) -> None:
        self.reading, writing = os.pipe()
        self.stream = os.fdopen(writing, "wb", buffering=0)
        self.failures: list[OSError | None] = []

    def output(self, patience: float = math.inf) -> Output:
        output = Output(self.stream, patience, lambda: self.failures.append(output.failure))
        output.start()
        return output

    async def read_until(self, done: Awaitable[None]) -> bytes:
        """What comes until an output has finished."""
        task = asyncio.ensure_future(done)
        task.add_done_callback(lambda _: self.stream.close())
        pieces = []
        while piece := await asyncio.to_thread(os.read, self.reading, 1 << 20):
            pieces.append(piece)
        await task
        return b"".join(pieces)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    one = Pipe()
    yield one
    one.stream.close()
    os.close(one.reading)


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(scene(), 60)

    asyncio.run(within())


@pytest.mark.parametrize("blocking", [True, False])
def test_a_reader_that_comes_late_gets_everything_in_order(pipe: Pipe, blocking: bool) -> None:
    os.set_blocking(pipe.stream.fileno(), blocking)
    pieces = [bytes([number % 256]) * 1316 for number in range(2000)]

    async def scene() -> None:
        output = pipe.output()
        for start in range(0, len(pieces), 7):
            output.put(pieces[start : start + 7])
        assert await pipe.read_until(output.finish()) == b"".join(pieces)
        assert output.take_dropped() == (0, 0)
        assert output.failure is None

    run(scene)


def test_what_has_waited_too_long_is_dropped_and_counted(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pieces = [bytes([number]) * WRITE_BYTES for number in range(6)]

    async def scene() -> None:
        output = pipe.output(patience=2.0)
        output.put(pieces[:4])  # the pipe has room for one, and the thread has another in its hands
        now[0] = 101.0
        output.put(pieces[4:5])
        now[0] = 102.5
        output.put(pieces[5:])
        dropped = output.take_dropped()
        finishing = asyncio.ensure_future(output.finish())
        await asyncio.sleep(0)  # from here on nothing is too old
        now[0] = 200.0
        got = await pipe.read_until(finishing)
        assert 2 <= dropped.packets <= 4
        assert dropped.bytes == dropped.packets * WRITE_BYTES
        assert got.endswith(pieces[4] + pieces[5])
        assert len(got) + dropped.bytes == 6 * WRITE_BYTES

    run(scene)


def test_what_waits_is_bounded(pipe: Pipe) -> None:
    pieces = [bytes([number]) * (1 << 20) for number in range(40)]

    async def scene() -> None:
        output = pipe.output()
        for piece in pieces:
            output.put([piece])
        dropped = output.take_dropped()
        assert dropped.packets in (40 - QUEUE_BYTES // (1 << 20), 39 - QUEUE_BYTES // (1 << 20))
        got = await pipe.read_until(output.finish())
        assert len(got) + dropped.bytes == 40 << 20
        assert got.endswith(b"".join(pieces[-16:]))

    run(scene)


def test_a_reader_that_dies_is_told_once_and_nothing_more_is_written(pipe: Pipe) -> None:
    async def scene() -> None:
        output = pipe.output()
        os.close(pipe.reading)
        output.put([bytes(10)])
        while output.failure is None:
            await asyncio.sleep(0)
        output.put([bytes(20)])
        await output.finish()
        assert isinstance(output.failure, BrokenPipeError)
        assert pipe.failures == [output.failure]
        assert output.take_dropped() == (1, 20)
        pipe.reading = os.open(os.devnull, os.O_RDONLY)

    run(scene)


def test_who_gives_up_waits_for_nobody(pipe: Pipe) -> None:
    async def scene() -> None:
        output = pipe.output()
        output.put([bytes(WRITE_BYTES)] * 5)
        output.give_up()
        assert 3 <= output.take_dropped().packets <= 5

    run(scene)
