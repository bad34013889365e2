"""What takes milliseconds is done in threads beside the loop, for packets wait meanwhile."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from hosts.wire.manifest import FileError

ResultT = TypeVar("ResultT")

PATIENT_NICE: Final = 10
"""Of what has time (setpriority(2); ours): alone on a processor it takes as long as ever, beside the packets' loop a
tenth of that. Not 19, for at its beginning and end it holds the interpreter, which the loop wants."""


class Elsewhere:
    """A session's work beside its loop."""

    def __init__(self, guarded: Callable[[Callable[[], None]], None]) -> None:
        """`guarded`: runs a callback of the loop, and ends the session when it raises."""
        self._guarded = guarded
        self._tasks: set[asyncio.Task[None]] = set()
        self._patient: ThreadPoolExecutor | None = None

    def begin(
        self,
        work: Callable[[], ResultT],
        then: Callable[[ResultT | None, FileError | None], None],
        *,
        has_time: bool = False,
    ) -> None:
        """`then` is told the result, or what is wrong with a file; in the loop. What `has_time` yields to packets."""
        if has_time and self._patient is None:
            self._patient = patient_thread()
        pool = self._patient if has_time else None

        async def do() -> None:
            result, problem = None, None
            try:
                result = await asyncio.get_running_loop().run_in_executor(pool, work)
            except FileError as error:
                problem = error
            self._guarded(lambda: then(result, problem))

        task = asyncio.get_running_loop().create_task(do())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: self._guarded(done.result))  # what it raises ends the session

    async def end(self) -> None:
        """Wait for all of it."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._patient is not None:
            self._patient.shutdown()


def patient_thread() -> ThreadPoolExecutor:
    """One that yields to all that is not as patient."""
    return ThreadPoolExecutor(1, initializer=_yield_to_others)


def _yield_to_others() -> None:
    """The calling thread, which is process 0 to Linux. Of less priority already it has no right to more."""
    os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), PATIENT_NICE))
