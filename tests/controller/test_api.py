from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from controller.api import MAX_LINE_BYTES, ApiClient, ApiError, ApiServer
from controller.events import EventLog


async def double(number: int = 1) -> int:
    return 2 * number


async def refuse() -> None:
    raise ApiError("not today")


async def crash() -> None:
    raise RuntimeError("a defect")


@asynccontextmanager
async def server(path: Path) -> AsyncIterator[EventLog]:
    events = EventLog(None)
    api = ApiServer(path, {"double": double, "refuse": refuse, "crash": crash}, events)
    await api.start()
    try:
        yield events
    finally:
        await api.stop()
    assert not path.exists()


def ask(path: Path, *lines: bytes) -> list[dict[str, Any]]:
    """Send raw lines on one connection; the answers until the server hangs up or all lines are answered."""

    async def body() -> list[dict[str, Any]]:
        async with server(path):
            reader, writer = await asyncio.open_unix_connection(str(path))
            answers = []
            for line in lines:
                writer.write(line + b"\n")
                answer = await reader.readline()
                if not answer:
                    break
                answers.append(json.loads(answer))
            writer.close()
            return answers

    return asyncio.run(body())


def test_requests_are_answered_in_order(tmp_path: Path) -> None:
    answers = ask(
        tmp_path / "api",
        b'{"id": 1, "method": "double", "params": {"number": 21}}',
        b'{"id": "a", "method": "double"}',
        b'{"id": 3, "method": "refuse"}',
    )
    assert answers == [{"id": 1, "result": 42}, {"id": "a", "result": 2}, {"id": 3, "error": "not today"}]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"nonsense", "a request is one JSON object on one line"),
        (b"\xff", "a request is one JSON object on one line"),
        (b"[" * 5000, "a request is one JSON object on one line"),
        (b"[]", "a request is {"),
        (b'{"method": 1}', "a request is {"),
        (b'{"method": "double", "params": []}', "params must be an object"),
        (b'{"method": "nothing"}', "there is no method 'nothing'; methods: crash, double, refuse, watch"),
        (b'{"method": "double", "params": {"numbers": 1}}', "double: got an unexpected keyword argument 'numbers'"),
        (b'{"method": "crash"}', "the controller failed; its log says why"),
        (b'{"method": "watch", "params": {"history": -1}}', None),
    ],
)
def test_bad_requests_get_an_error_and_the_connection_lives(tmp_path: Path, line: bytes, error: str | None) -> None:
    answers = ask(tmp_path / "api", line, b'{"method": "double"}')
    if error is None:
        assert "error" in answers[-1] or answers[0]["result"] == "watching"
    else:
        assert answers[0]["error"].startswith(error)
        assert answers[1] == {"id": None, "result": 2}


async def test_an_endless_line_ends_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "api"
    async with server(path):
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(b"x" * (MAX_LINE_BYTES + 100))
        assert await reader.read() == b""
        writer.close()


async def test_the_socket_is_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "api"
    async with server(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_client_calls_and_watches(tmp_path: Path) -> None:
    def client(path: Path) -> list[Any]:
        with ApiClient(path) as api:
            found: list[Any] = [api.call("double", number=4)]
            with pytest.raises(ApiError, match="not today"):
                api.call("refuse")
        with ApiClient(path) as api:
            for event in api.watch(history=2):
                found.append(event["port"])
                if event["port"] == 2:
                    break
        with ApiClient(path) as api:
            watching = api.watch()
            found.append("watching")
            with pytest.raises(ConnectionError):
                next(watching)
        return found

    path = tmp_path / "api"
    async with server(path) as events:
        for n in range(3):
            events.add("join", port=n)
        task = asyncio.create_task(asyncio.to_thread(client, path))
        await asyncio.sleep(0.2)  # the last watcher waits for an event that never comes
    assert await task == [8, 1, 2, "watching"]


async def test_a_watcher_that_goes_away_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "api"
    async with server(path) as events:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(b'{"method": "watch"}\n')
        assert json.loads(await reader.readline())["result"] == "watching"
        while not events._followers:
            await asyncio.sleep(0.001)
        writer.close()
        while events._followers:
            await asyncio.sleep(0.001)
