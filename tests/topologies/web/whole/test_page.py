"""The page in a browser: what it shows of a run, whether it bears that the run dies, and that it asks nobody else."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from experiments.bench.browser import Browser, browsing, chromium
from tests.topologies.simulation.runs import session, simulate, tree
from topologies.web.run import Run
from topologies.web.server import serve

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium on PATH")

READY = "window.canopy && (canopy.ready || canopy.errors.length)"


async def seek(browser: Browser, t: float) -> None:
    await browser.ask(f"(() => {{ const e = document.getElementById('time'); e.value = {t}; e.oninput(); }})()")
    await browser.wait_for("!canopy.dirty")


async def look_at_ending(folders: list[Path]) -> None:
    """The first run ends while the page follows it: the page is then at its end, and has what came of it."""
    link: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve([Run(folder) for folder in folders], 0, link.set_result))
    written = folders[0] / "summary.json"
    summary = json.loads(written.read_text())
    summary["duration_s"] += 1.2345  # as in an emulation, it ends after the last sample
    written.unlink()
    for path in (folders[0] / "series").iterdir():
        os.utime(path, (time.time() + 600,) * 2)  # as if it was still written, however long the browser takes to start
    async with browsing() as browser:
        await browser.open(await link)
        await browser.wait_for(READY)
        assert "running" in await browser.ask("document.getElementById('verdicts').innerText")
        written.write_text(json.dumps(summary))
        await browser.wait_for("!canopy.live && !canopy.dirty")
        await look_at_results(browser, summary)
        await look_inside(browser)
        await look_at_values(browser, folders[0])
        await seek(browser, summary["duration_s"] + 1)
        await look_at_results(browser, summary)
        await look_at_width(browser)
        assert await browser.ask("Math.max(...canopy.graphs[1].state.links.use)") == 0  # it was over before
        assert browser.problems == []
        assert await browser.ask("canopy.errors") == []
        assert {address.split("/")[2] for address in browser.requests} == {(await link).split("/")[2]}
    server.cancel()


async def look_at_results(browser: Browser, summary: dict[str, Any]) -> None:
    result = summary["sessions"][0]
    text = await browser.ask("document.body.innerText")
    assert "A tree" in text
    assert "4 of 4 receivers complete" in text
    assert f"feedback packets {result['feedback_packets']}" in text
    cells = await browser.ask(
        "[...document.querySelector('table').rows].slice(1).map(row => [...row.cells].map(cell => cell.innerText))"
    )
    for row, receiver in zip(cells, result["receivers"], strict=True):
        assert row[0] == receiver["host"]
        assert row[1] == "complete"
        assert (row[4], row[5]) == (str(receiver["lost_packets"]), str(receiver["repaired_packets"]))
        assert float(row[-1].split()[0]) == pytest.approx(receiver["goodput_bps"] / 1e6, rel=0.01)


async def look_at_width(browser: Browser) -> None:
    """Two runs have room in 1280 pixels: the page, its tables and its plots' legends."""
    size = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    await browser.call("Emulation.setDeviceMetricsOverride", **size)
    await browser.wait_for(  # plots take their new place when the browser tells them of it
        "[document.documentElement, ...document.querySelectorAll('main, .session, aside, #plots, .plot, .plot > p')]"
        ".every(each => each.scrollWidth <= each.clientWidth + 1)"
    )
    cut = "[...document.querySelectorAll('.plot > p')].filter(each => each.scrollHeight > each.clientHeight).length"
    assert await browser.ask(cut) == 0
    await browser.ask("canopy.graphs.forEach(graph => { graph.canvas.style.height = '90px'; })")  # as of many receivers
    await browser.wait_for("canopy.graphs.every(graph => graph.fitted < 1)")
    large = (
        "Math.max(...graph.sources.nodes.data.size.filter((_, i) => graph.sources.nodes.data.marker[i] === 'circle'))"
    )
    assert await browser.ask(f"canopy.graphs.every(graph => {large} < graph.gap())"), "receivers lie on each other"


async def look_at_values(browser: Browser, folder: Path) -> None:
    """A plot says what its curves have at the cursor, and where the mouse points for as long as it does."""
    values = "[...document.querySelector('.plot').querySelectorAll('output')].map(each => each.textContent)"
    rows = [json.loads(line) for line in (folder / "series" / "sessions.jsonl").read_text().splitlines()]

    def sent(t: float) -> float:
        last = [row for row in rows if row["t"] <= t][-1]
        return float(last["rate_bps"]) / 1e6

    await seek(browser, 0.6)
    assert float((await browser.ask(values))[0]) == pytest.approx(sent(0.6), abs=0.06)
    await seek(browser, 1.2)
    later = await browser.ask(values)
    assert float(later[0]) == pytest.approx(sent(1.2), abs=0.06)
    x, y = await browser.ask(
        "(() => { const plot = canopy.plots.plots[0], box = plot.box.querySelector('.canvas').getBoundingClientRect(),"
        " {left, width, top} = plot.frame.bbox;"
        " return [box.x + left + width * 0.6 / plot.range.end, box.y + top + 20]; })()"
    )
    await browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    await browser.wait_for("canopy.plots.pointed !== null")
    assert await browser.ask("Math.abs(canopy.plots.pointed - 0.6) < 0.1")
    assert "at 0." in await browser.ask("document.querySelector('.plot b').textContent")
    await browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    await browser.wait_for("canopy.plots.pointed === null")
    assert await browser.ask(values) == later


async def look_inside(browser: Browser) -> None:
    """At half time: data go down the whole tree, a receiver limits, and a link that is clicked is explained."""
    await seek(browser, 0.9)
    assert await browser.ask("canopy.graphs[0].state.trees.get('232.1.0.1').size") == 7
    assert await browser.ask("Math.max(...canopy.graphs[0].state.links.use)") > 0.2
    assert "limits" in await browser.ask("document.getElementById('tables').innerText")
    await browser.ask("canopy.graphs[0].onPick(canopy.runs[0], {link: 2})")
    await browser.wait_for("!canopy.dirty")
    assert "10.0 Mbps" in await browser.ask("document.getElementById('details').innerText")


def test_two_runs_of_which_one_ends_show_what_their_summaries_say(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        simulate(folder, tree(", toward: {r4: {loss: 1 %}}") + session("1 MB"), seed=len(folder.name))
    asyncio.run(look_at_ending(folders))


MANY = """\
sessions:
  - {id: 1, protocol: webrc, sender: sender, group: 232.6.0.0, port: 5001, size: 100 kB, receivers: [r1, r3],
     parameters: {session_rate_bps: 2000000}}
  - {id: 2, protocol: vlmcc, sender: sender, group: 232.5.0.0, port: 5002, realtime: true, receivers: [r2, r4]}
"""


async def look_at_kinds(folder: Path) -> None:
    link: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve([Run(folder)], 0, link.set_result))
    async with browsing() as browser:
        await browser.open(await link)
        await browser.wait_for(READY)
        await seek(browser, 1)
        trees = await browser.ask("[...canopy.graphs[0].state.trees].map(([group, links]) => [group, links.size])")
        assert sorted(trees) == [["232.5.0.0", 5], ["232.6.0.0", 5]]
        orange = "canopy.graphs[0].dots.links.filter(link => link.colour === '#e08a1e').length"
        assert await browser.ask(orange) < 10  # of 16 directions: ten have data of a session or more
        await seek(browser, 8)
        assert "4 of 4 receivers complete or took part to the end" in await browser.ask("document.body.innerText")
        rows = await browser.ask("[...document.querySelectorAll('table')[1].rows].map(row => row.innerText)")
        assert not any("%" in row or "complete" in row for row in rows)
        assert all("took part to the end" in row for row in rows[1:])
    server.cancel()


def test_a_session_of_many_groups_has_one_tree_and_real_time_data_no_progress(tmp_path: Path) -> None:
    result = simulate(tmp_path, tree().replace("duration: 60 s", "duration: 8 s") + MANY)
    assert result.summary.ok
    asyncio.run(look_at_kinds(tmp_path))


async def look_at_dying(scenario: Path, out: Path) -> None:
    command = [sys.executable, "-m", "topologies.cli", "simulate", str(scenario), "--out", str(out), "--web"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    link = run.stderr.readline().split()[0]
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    try:
        async with browsing() as browser:
            await browser.open(link)
            await browser.wait_for(READY)
            await browser.wait_for("canopy.runs[0].end > 0.5")
            assert "running" in await browser.ask("document.getElementById('verdicts').innerText")
            run.kill()
            run.wait()
            await browser.wait_for("document.getElementById('verdicts').innerText.includes('no summary')")
            await seek(browser, 0.5)
            assert "sending" in await browser.ask("document.getElementById('tables').innerText")
            assert browser.problems == []
    finally:
        for child in children:
            os.kill(int(child), signal.SIGKILL)


def test_a_run_that_is_killed_stays_on_the_page_which_says_so(tmp_path: Path) -> None:
    scenario = tmp_path / "tree.yaml"
    scenario.write_text(tree() + session("80 MB"))  # more than it carries in its 60 s
    asyncio.run(look_at_dying(scenario, tmp_path / "out"))
