from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from finsy.log import LOGGER

from controller.logs import FinsyFilter, describe_failure


class Heard:
    """What the filter passes on."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.failures: list[tuple[str, str]] = []
        self.filter = FinsyFilter(self.lost.append, lambda switch, failure: self.failures.append((switch, failure)))


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.WARNING)  # whatever a command that ran in this process has set
    found = Heard()
    logger = logging.getLogger("finsy")
    logger.addFilter(found.filter)
    yield found
    logger.removeFilter(found.filter)


def in_task(name: str, message: str, *args: Any, **kwargs: Any) -> None:
    """Log as finsy does: with its adapter, from a task of a connection."""

    async def body() -> None:
        task = asyncio.create_task(log(), name=name)
        await task

    async def log() -> None:
        LOGGER.warning(message, *args, **kwargs)

    asyncio.run(body())


def test_digests_that_finsy_drops_are_told(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    in_task("fy:s7|Switch._run&", "digest ignored: %r", object())
    assert heard.lost == ["s7"]
    assert caplog.records == []


def test_a_failed_task_is_one_line_without_a_traceback(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    error = ValueError("first line\nsecond line")
    in_task("", "Switch task %r failed", "fy:s7|Switch._ready", exc_info=error)
    assert heard.failures == [("s7", "ValueError: first line")]
    assert caplog.records == []


def test_other_records_pass(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    in_task("fy:s7|x", "gNMI is not implemented")
    in_task("fy:s7|x", "something else: %d", 3)
    assert [record.getMessage() for record in caplog.records] == ["[s7|x] something else: 3"]


def test_failures_are_described_in_words() -> None:
    assert describe_failure(RuntimeError("P4Client.receive got EOF!")) == "the switch ended the connection"
    assert describe_failure(KeyError()) == "KeyError: "
