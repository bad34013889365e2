import asyncio
import time

import pytest

from hosts import clock


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
