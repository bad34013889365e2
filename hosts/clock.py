"""Which clock endpoints live on: the monotonic one, or, where all hosts' clocks are synchronised, the time of day.

Protocols compare nothing but their own clock's times, unless they are told that clocks agree (TFMCC 2.4.1: NTP). Then
`now` is the time of day when the program started, and goes on as the monotonic clock does: it never goes back, and what
NTP mends meanwhile is small beside its error.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

Result = TypeVar("Result")
CLOCK_ERROR: Final = "clock_error_s"
"""The parameter that says that clocks agree: by so many seconds at most; negative or absent: they do not."""


class TimeOfDayLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is seconds since 1970."""

    def __init__(self) -> None:
        self._since = time.time() - time.monotonic()
        super().__init__()

    def time(self) -> float:
        return super().time() + self._since


def run(main: Coroutine[Any, Any, Result], parameters: Mapping[str, Any]) -> Result:
    """`asyncio.run` on the clock that a session's parameters ask for."""
    synchronised = float(parameters.get(CLOCK_ERROR, -1.0)) >= 0
    with asyncio.Runner(loop_factory=TimeOfDayLoop if synchronised else None) as runner:
        return runner.run(main)
