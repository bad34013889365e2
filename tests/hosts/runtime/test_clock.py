import asyncio
import gc
import socket
import time

import pytest

from hosts.runtime import clock


async def look() -> tuple[float, float]:
    """The loop's time, and by how much a timer of 20 ms was late."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    await asyncio.sleep(0.02)
    return started, loop.time() - started - 0.02


def test_synchronised_hosts_live_by_the_time_of_day() -> None:
    before = time.time()
    shown, late = clock.run(look(), {clock.CLOCK_ERROR: "0.02"})
    assert before - 0.01 <= shown <= time.time() + 0.01
    assert late > -0.001


@pytest.mark.parametrize("parameters", [{}, {clock.CLOCK_ERROR: -1.0}])
def test_others_live_by_their_monotonic_clock(parameters: dict[str, float]) -> None:
    before = time.monotonic()
    shown, _ = clock.run(look(), parameters)
    assert before <= shown <= time.monotonic()


def test_what_was_loaded_is_not_looked_through_for_garbage() -> None:
    async def frozen() -> int:
        return gc.get_freeze_count()

    try:
        assert clock.run(frozen(), {}) > 10_000
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("is_precise", [True, False])
def test_timers_wait_for_the_next_millisecond_where_nobody_minds(is_precise: bool) -> None:
    """The best of many: the machine's other programs hold up most of them on a busy day."""

    async def lateness() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, clock.PatientLoop)
        loop.sockets.is_precise = is_precise
        late = []
        for _ in range(50):
            at = loop.time() + 0.0002
            await asyncio.sleep(0.0002)
            late.append(loop.time() - at)
        return min(late)

    assert (clock.run(lateness(), {}) < 0.0005) is is_precise


def test_a_patient_loop_reads_what_came_meanwhile_together() -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    near.setblocking(False)
    reads: list[float] = []
    patience = 0.05

    async def read() -> float:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, clock.PatientLoop)
        loop.sockets.patience_s = patience
        began = loop.time()
        await asyncio.sleep(patience / 10)
        late = loop.time() - began - patience / 10
        done = loop.create_future()

        def take() -> None:
            near.recv(10)
            reads.append(loop.time())
            if len(reads) < 4:
                far.send(b"x")
            else:
                done.set_result(None)

        loop.add_reader(near, take)
        far.send(b"x")
        await done
        return late

    with near, far:
        late = clock.run(read(), {})
    assert late < patience / 2  # a timer is not late for it
    assert reads[-1] - reads[0] > 2.5 * patience
