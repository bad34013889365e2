"""Signals that end a program, as exceptions while it works and not at all while it cleans up."""

import contextlib
import signal
from collections.abc import Iterator, Mapping
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """One of the signals came; not an Exception, so that nothing takes it for a failure and goes on."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` in the main thread when one of the signals comes."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    previous = {number: signal.signal(number, interrupt) for number in ENDING}
    try:
        yield
    finally:
        _restore(previous)


@contextlib.contextmanager
def uninterruptible() -> Iterator[None]:
    """Ignore the signals: what runs here takes no longer than a second or two, and must not be left half done."""
    previous = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        _restore(previous)


def _restore(previous: Mapping[signal.Signals, "signal._HANDLER"]) -> None:
    for number, handler in previous.items():
        signal.signal(number, handler)
