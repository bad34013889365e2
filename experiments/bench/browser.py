"""Drives headless Chromium over its DevTools protocol."""

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

START_S = 30.0
ANSWER_S = 30.0
_WIDTH, _HEIGHT = 1500, 950


def chromium() -> str | None:
    """The browser on PATH."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page of a running browser."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.problems: list[str] = []
        """Errors that the page's console or network showed."""
        self.requests: list[str] = []
        """Addresses that it asked for."""
        self._socket = socket
        self._numbers = itertools.count(1)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; what happens meanwhile is noted."""
        number = next(self._numbers)
        await self._socket.write_message(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            text = await asyncio.wait_for(self._socket.read_message(), ANSWER_S)
            assert text is not None, "the browser has gone"
            message: dict[str, Any] = json.loads(text)
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details.get("text", "")))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.problems.append(str([part.get("value", part.get("description")) for part in parameters["args"]]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    async def open(self, address: str) -> None:
        """Go to an address."""
        for domain in ("Runtime", "Log", "Network", "Page"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=address)

    async def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression; one that throws is an AssertionError."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def wait_for(self, expression: str, seconds: float = 30.0) -> Any:
        """Wait until an expression holds."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not (value := await self.ask(expression)):
            assert asyncio.get_running_loop().time() < deadline, f"{expression} never held; {self.problems}"
            await asyncio.sleep(0.05)
        return value

    async def picture(self, path: Path) -> None:
        """Write a PNG of the page."""
        answer = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(answer["data"]))


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """A browser with one empty page; it ends with all that it started."""
    program = chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="canopy-browser-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                f"--window-size={_WIDTH},{_HEIGHT}",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            socket = await websocket_connect(await _page_address(Path(folder)), max_message_size=1 << 28)
            browser = Browser(socket)
            await browser.call(
                "Emulation.setDeviceMetricsOverride", width=_WIDTH, height=_HEIGHT, deviceScaleFactor=1, mobile=False
            )
            yield browser
            socket.close()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


async def _page_address(folder: Path) -> str:
    """Where the browser's page listens, once it has said so."""
    told = folder / "DevToolsActivePort"
    for _ in range(int(START_S / 0.05)):
        if told.exists() and (lines := told.read_text().splitlines()) and lines[0].isdigit():
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=START_S) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        await asyncio.sleep(0.05)
    raise AssertionError("Chromium did not start")
