import asyncio
import json
from pathlib import Path

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse

from tests.topologies.scenarios import TEXT
from topologies.results.run_folder import RunFolder
from topologies.web.run import Run
from topologies.web.server import serve


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = RunFolder(tmp_path)
    folder.series.mkdir()
    folder.scenario.write_text(TEXT)
    return Run(tmp_path)


def ask(run: Run, *requests: tuple[str, dict[str, str], bytes | None]) -> list[HTTPResponse]:
    """Answers to (path, headers, body of a POST)."""

    async def talk() -> list[HTTPResponse]:
        link: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(serve([run], 0, link.set_result))
        base = (await link).rstrip("/")
        client = AsyncHTTPClient(force_instance=True)
        answers = [
            await client.fetch(
                HTTPRequest(base + path, "GET" if body is None else "POST", headers, body), raise_error=False
            )
            for path, headers, body in requests
        ]
        task.cancel()
        return answers

    return asyncio.run(talk())


def test_only_this_machine_by_its_own_name_is_answered(run: Run) -> None:
    paths = ("/", "/main.js", "/bokeh/bokeh.min.js", "/api/runs")
    foreign = ask(run, *((path, {"Host": "evil.example"}, None) for path in paths))
    assert [answer.code for answer in foreign] == [403] * 4
    own = ask(run, *((path, {}, None) for path in paths))
    assert [answer.code for answer in own] == [200] * 4
    assert all("default-src 'self'" in answer.headers["Content-Security-Policy"] for answer in own)


def test_no_other_file_is_served(run: Run) -> None:
    paths = ("/../server.py", "/%2e%2e/server.py", "/bokeh/lib/core/class.js", "/bokeh/bokeh.js", "/api/runs/7/rows")
    assert all(answer.code in (403, 404, 405) for answer in ask(run, *((path, {}, None) for path in paths)))


def test_rows_are_asked_for_by_what_there_is_and_nonsense_is_refused(run: Run) -> None:
    bad = (b"nonsense", b"[]", b'{"ports": 1}', b'{"ports": ["x", 1]}')
    good, *others = ask(run, *(("/api/runs/0/rows", {}, body) for body in (b"{}", *bad)))
    assert json.loads(good.body)["summary"] is None
    assert [answer.code for answer in others] == [400] * 4
