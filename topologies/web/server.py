"""Serves the page on loopback: its files, the libraries' scripts from their packages, and runs as JSON."""

import asyncio
import importlib.util
import json
import math
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler

from topologies.web.packets import Packets
from topologies.web.run import Run

LOOPBACK = "127.0.0.1"
PAGE = Path(__file__).parent / "page"
BOKEH_SCRIPTS = ("bokeh.min.js", "bokeh-api.min.js")
MAX_QUERY = 100_000
"""Characters of a question, at most: streams and counts of a scenario with some thousand flows."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
        "base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
"""Nothing may be loaded from anywhere else, and nobody else may show the page. BokehJS sets styles itself."""


class _Guarded(RequestHandler):
    """Answers only who asked for this machine by its own name: a foreign page whose name was made to mean 127.0.0.1
    (DNS rebinding) says its own."""

    def prepare(self) -> None:
        try:
            name = urlsplit(f"//{self.request.host}").hostname
        except ValueError:
            name = None
        if name not in (LOOPBACK, "localhost"):
            raise HTTPError(403, reason="Only for this machine")

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)


class _File(_Guarded, StaticFileHandler):
    """A file of the page, or of a library."""


class _Script(_File):
    """One of the library's scripts, and nothing else of its package."""

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        if Path(absolute_path).name not in BOKEH_SCRIPTS:
            raise HTTPError(404)
        return super().validate_absolute_path(root, absolute_path)


class _Runs(_Guarded):
    """The scenes of all runs."""

    def initialize(self, runs: Sequence[Run], asked: Callable[[], None]) -> None:
        self._runs, self._asked = runs, asked

    def get(self) -> None:
        self._asked()
        self.write({"runs": [run.scene for run in self._runs]})


class _Rows(_Guarded):
    """What a page lacks of a run: POST with {stream: [generation, rows that it has]}."""

    def initialize(self, runs: Sequence[Run], asked: Callable[[], None]) -> None:
        self._runs, self._asked = runs, asked

    def post(self, number: str) -> None:
        self._asked()
        if int(number) >= len(self._runs) or len(self.request.body) > MAX_QUERY:
            raise HTTPError(404)
        run = self._runs[int(number)]
        summary = run.summary()  # before the rows: when it is there, so are they
        more = run.read()
        self.write({"streams": run.since(self._have()), "more": more, "summary": summary, "silent": run.silent_s()})

    def _have(self) -> dict[str, tuple[int, int]]:
        try:
            said = json.loads(self.request.body)
            return {str(name): (int(generation), max(int(count), 0)) for name, (generation, count) in said.items()}
        except (ValueError, TypeError, AttributeError):
            raise HTTPError(400) from None


class _Packets(_Guarded):
    """Packets of a run at a switch from a time on, or how far it is with playing the run again."""

    def initialize(self, packets: Sequence[Packets], asked: Callable[[], None]) -> None:
        self._packets, self._asked = packets, asked

    def get(self, number: str) -> None:
        self._asked()
        if int(number) >= len(self._packets):
            raise HTTPError(404)
        try:
            at = float(self.get_query_argument("at", "0"))
        except ValueError:
            raise HTTPError(400) from None
        if not math.isfinite(at):
            raise HTTPError(400)
        switch = self.get_query_argument("switch", None)
        self.write(self._packets[int(number)].list(switch, at, self.get_query_argument("towards", None)))


class _Journey(_Guarded):
    """A packet's way."""

    def initialize(self, packets: Sequence[Packets], asked: Callable[[], None]) -> None:
        self._packets, self._asked = packets, asked

    def get(self, number: str, name: str) -> None:
        self._asked()
        if int(number) >= len(self._packets):
            raise HTTPError(404)
        self.write(self._packets[int(number)].journey(name))


def make_application(runs: Sequence[Run], packets: Sequence[Packets], asked: Callable[[], None]) -> Application:
    """The page's server; `packets` are the runs', `asked` is called whenever a page asks for something of a run."""
    what: dict[str, Any] = {"runs": runs, "asked": asked}
    ways: dict[str, Any] = {"packets": packets, "asked": asked}
    return Application(
        [
            (r"/api/runs", _Runs, what),
            (r"/api/runs/(\d{1,3})/rows", _Rows, what),
            (r"/api/runs/(\d{1,3})/packets", _Packets, ways),
            (r"/api/runs/(\d{1,3})/packets/([^/]{1,80})", _Journey, ways),
            (r"/bokeh/(.*)", _Script, {"path": bokeh_folder()}),
            (r"/(.*)", _File, {"path": str(PAGE), "default_filename": "index.html"}),
        ],
        compress_response=True,
        log_function=lambda _handler: None,
    )


def bokeh_folder() -> str:
    """Where Bokeh's package has its scripts. The package itself, a second's work, is not imported."""
    found = importlib.util.find_spec("bokeh")
    if found is None or found.origin is None:
        raise FileNotFoundError("the package bokeh is missing: make setup")
    return str(Path(found.origin).parent / "server" / "static" / "js")


async def serve(
    runs: Sequence[Run], port: int, on_link: Callable[[str], None], until: Callable[[float], bool] = lambda _: False
) -> None:
    """Serve on a port of loopback (0: one that is free) until `until`, given the seconds since a page last asked, says
    so. `on_link` is told where. OSError when the port is in use."""
    loop = asyncio.get_running_loop()
    last = loop.time()

    def asked() -> None:
        nonlocal last
        last = loop.time()

    packets = [Packets(run) for run in runs]
    server = HTTPServer(make_application(runs, packets, asked), max_body_size=MAX_QUERY)
    sockets = bind_sockets(port, LOOPBACK, family=socket.AF_INET)
    server.add_sockets(sockets)
    on_link(f"http://{LOOPBACK}:{sockets[0].getsockname()[1]}/")
    try:
        while not until(loop.time() - last):
            await asyncio.sleep(0.5)
    finally:
        server.stop()
        for each in packets:
            each.close()
