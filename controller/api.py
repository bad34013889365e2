"""The controller's API: JSON lines over a Unix socket (docs/controller.md).

A request is `{"id": any, "method": name, "params": {...}}`, its answer `{"id": same, "result": ...}` or `{"id": same,
"error": message}`. The answer to `watch` is followed by `{"event": {...}}` lines until the client goes away.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from controller.events import EventLog

LOG = logging.getLogger("canopy.controller")

MAX_LINE_BYTES = 1 << 20
MAX_CLIENTS = 64
SEND_TIMEOUT_S = 10.0  # a client that reads nothing for so long is cut off

Method = Callable[..., Awaitable[Any]]


class ApiError(Exception):
    """A request cannot be served; the message goes to the client as it is."""


class ApiServer:
    """Serves `methods` (name -> coroutine function with keyword parameters) and `watch`."""

    def __init__(self, path: Path, methods: Mapping[str, Method], events: EventLog) -> None:
        self._path = path
        self._methods = methods
        self._events = events
        self._clients: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to listen; only the user may connect. Raises OSError."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            mask = os.umask(0o177)
            try:
                listener.bind(str(self._path))
            finally:
                os.umask(mask)
            listener.setblocking(False)
            self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=MAX_LINE_BYTES)
        except OSError:
            listener.close()
            raise

    async def stop(self) -> None:
        """Stop listening, hang up, remove the socket."""
        if self._server is not None:
            self._server.close()
            for client in self._clients:
                client.cancel()
            await asyncio.gather(*self._clients, return_exceptions=True)
            self._path.unlink(missing_ok=True)
            self._server = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= MAX_CLIENTS:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer), name="api client")
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                if not await self._answer(line, reader, writer):
                    break
        except (ConnectionError, TimeoutError):
            pass  # the client went away
        except ValueError:
            LOG.warning("an API client sent a line of more than %d bytes", MAX_LINE_BYTES)
        finally:
            writer.close()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request. False when the connection's life ends with it."""
        request_id: Any = None
        try:
            request_id, name, params = _parse(line)
            if name == "watch":
                await _send(writer, {"id": request_id, "result": "watching"})
                await self._watch(params, reader, writer)
                return False
            method = self._methods.get(name)
            if method is None:
                raise ApiError(f"there is no method {name!r}; methods: {', '.join(sorted(self._methods))}, watch")
            try:
                inspect.signature(method).bind(**params)
            except TypeError as error:
                raise ApiError(f"{name}: {error}") from None
            result = await method(**params)
        except ApiError as error:
            await _send(writer, {"id": request_id, "error": str(error)})
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            LOG.exception("the API request %s failed", line[:200])
            await _send(writer, {"id": request_id, "error": "the controller failed; its log says why"})
        else:
            await _send(writer, {"id": request_id, "result": result})
        return True

    async def _watch(
        self, params: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Send events until the client hangs up, which is noticed while nothing happens too."""
        history = params.get("history", 0)
        if not isinstance(history, int) or history < 0:
            raise ApiError("watch: history must be a count")

        async def send_events() -> None:
            async for event in self._events.follow(history):
                await _send(writer, {"event": event})

        sender = asyncio.create_task(send_events(), name="api watch")
        hangup = asyncio.create_task(reader.read(1), name="api hangup")
        try:
            done, _ = await asyncio.wait({sender, hangup}, return_when=asyncio.FIRST_COMPLETED)
            if sender in done:
                sender.result()
        finally:
            for task in (sender, hangup):
                task.cancel()
            await asyncio.gather(sender, hangup, return_exceptions=True)


class ApiClient:
    """A blocking client, as a command needs it."""

    def __init__(self, path: Path, timeout_s: float | None = 10.0) -> None:
        """Connect. Raises OSError."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> ApiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._socket.close()

    def call(self, method: str, **params: Any) -> Any:
        """Call a method and wait for its result. Raises ApiError with the controller's message, and OSError."""
        self._socket.sendall(json.dumps({"id": 1, "method": method, "params": params}).encode() + b"\n")
        reply = self._read()
        if "error" in reply:
            raise ApiError(reply["error"])
        return reply["result"]

    def watch(self, history: int = 0) -> Iterator[dict[str, Any]]:
        """Events, until the controller ends (ConnectionError)."""
        self.call("watch", history=history)
        self._socket.settimeout(None)
        while True:
            yield self._read()["event"]

    def _read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the controller hung up")
        reply: dict[str, Any] = json.loads(line)
        return reply


def _parse(line: bytes) -> tuple[Any, str, dict[str, Any]]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        raise ApiError("a request is one JSON object on one line") from None
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        raise ApiError('a request is {"id": ..., "method": name, "params": {...}}')
    params = request.get("params", {})
    if not isinstance(params, dict):
        raise ApiError("params must be an object")
    return request.get("id"), request["method"], params


async def _send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    async with asyncio.timeout(SEND_TIMEOUT_S):
        await writer.drain()
