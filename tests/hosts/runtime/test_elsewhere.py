import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from hosts.runtime.elsewhere import PATIENT_NICE, Elsewhere, patient_thread
from hosts.wire.manifest import FileError


def now(action: Callable[[], None]) -> None:
    action()


def niceness() -> tuple[int, int]:
    """Of the calling thread, and which one it is."""
    thread = threading.get_native_id()
    return os.getpriority(os.PRIO_PROCESS, thread), thread


@pytest.mark.parametrize("has_time", [False, True])
def test_work_is_done_in_a_thread_that_yields_where_it_has_time(*, has_time: bool) -> None:
    found: list[tuple[int, int]] = []

    def then(result: tuple[int, int] | None, problem: FileError | None) -> None:
        assert (threading.get_native_id(), problem) == (main, None)
        assert result is not None
        found.append(result)

    async def session() -> None:
        elsewhere = Elsewhere(now)
        for _ in range(2):
            elsewhere.begin(niceness, then, has_time=has_time)
        await elsewhere.end()

    own, main = niceness()
    asyncio.run(session())
    assert len(found) == 2, "its end waits for all"
    assert all(thread != main for _, thread in found)
    assert {nice for nice, _ in found} == {max(own, PATIENT_NICE) if has_time else own}


def test_who_yields_already_does_not_ask_for_more() -> None:
    """Which only root may."""
    with (
        ThreadPoolExecutor(1, initializer=os.setpriority, initargs=(os.PRIO_PROCESS, 0, 15)) as nicer,
        patient_thread() as plain,
    ):
        with nicer.submit(patient_thread).result() as thread:
            assert nicer.submit(lambda: thread.submit(niceness).result()).result()[0] >= 15
        assert plain.submit(niceness).result()[0] >= PATIENT_NICE


def test_what_is_wrong_with_a_file_is_told() -> None:
    told: list[tuple[object, str]] = []

    def fail() -> None:
        raise FileError("full")

    async def session() -> None:
        elsewhere = Elsewhere(now)
        elsewhere.begin(fail, lambda result, problem: told.append((result, str(problem))))
        await elsewhere.end()

    asyncio.run(session())
    assert told == [(None, "full")]
