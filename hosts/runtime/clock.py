"""Which clock endpoints live on: the monotonic one, or, where all hosts' clocks are synchronised, the time of day.

Protocols compare nothing but their own clock's times, unless they are told that clocks agree (TFMCC 2.4.1: NTP). Then
`now` is the time of day when the program started, and goes on as the monotonic clock does: it never goes back, and what
NTP mends meanwhile is small beside its error.
"""

import asyncio
import gc
import select
import selectors
import time
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

Result = TypeVar("Result")
CLOCK_ERROR: Final = "clock_error_s"
"""The parameter that says that clocks agree: by so many seconds at most; negative or absent: they do not."""


MOST_DESCRIPTORS: Final = 1024
"""select(2) takes descriptors below this (FD_SETSIZE)."""


class PatientSelector(selectors.EpollSelector):
    """Looks at the sockets no more often than every `patience_s`, as network cards moderate their interrupts: what
    comes meanwhile is read together. Timers are not late for it.

    They fire at whole milliseconds, as epoll_wait(2) has it, so that what is due meanwhile leaves together; where
    `is_precise`, for which a millisecond is 80 packets too many, after microseconds, as select(2) on epoll's own
    descriptor has it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.patience_s = 0.0
        self.is_precise = False
        self._looked_at = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As the base class's, which has no nap."""
        if self.patience_s and (timeout is None or timeout > 0):
            nap = self._looked_at + self.patience_s - time.monotonic()
            if timeout is not None and nap > 0:
                nap = min(nap, timeout)
                timeout -= nap
            if nap > 0:
                time.sleep(nap)
        if self.is_precise and timeout is not None and timeout > 0 and self.fileno() < MOST_DESCRIPTORS:
            select.select((self.fileno(),), (), (), timeout)
            timeout = 0
        found = super().select(timeout)
        if self.patience_s:
            self._looked_at = time.monotonic()
        return found


class PatientLoop(asyncio.SelectorEventLoop):
    """An event loop on such a selector."""

    def __init__(self) -> None:
        self.sockets = PatientSelector()
        super().__init__(self.sockets)


class TimeOfDayLoop(PatientLoop):
    """An event loop whose time is seconds since 1970."""

    def __init__(self) -> None:
        self._since = time.time() - time.monotonic()
        super().__init__()

    def time(self) -> float:
        return super().time() + self._since


def run(main: Coroutine[Any, Any, Result], parameters: Mapping[str, Any]) -> Result:
    """`asyncio.run` on the clock that a session's parameters ask for. What has been loaded so far is no garbage, nor
    will be: to look through it for some takes Python tens of milliseconds, in which packets would wait, and the program
    at its end."""
    synchronised = float(parameters.get(CLOCK_ERROR, -1.0)) >= 0
    gc.freeze()
    with asyncio.Runner(loop_factory=TimeOfDayLoop if synchronised else PatientLoop) as runner:
        return runner.run(main)
