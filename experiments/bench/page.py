"""`canopy bench page`: pictures a second of a run's page in a browser without a window, and how soon it explains a
packet. The browser draws on the same processors as everything else, without a graphics card."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final

import typer

from engine.command.exits import EXIT_FAILED
from engine.command.fail import fail
from experiments.bench.browser import Browser, browsing, chromium
from experiments.bench.figure import show
from experiments.figures.bench import Figure
from topologies.scenario import load_scenario, parse_scenario
from topologies.simulation.runner import SimulationOptions, simulate_scenario
from topologies.web.run import Run
from topologies.web.server import serve

QUICKSTART: Final = Path(__file__).parents[2] / "topologies" / "quickstart.yaml"
PICTURES_A_SECOND: Final = 30
"""What a network of 200 nodes is to be drawn with (ours: a film has 24)."""
USABLE: Final = 10
"""Pictures a second below which a hand on the mouse feels the page lag (ours), for 1,000 nodes."""
CLICK_MS: Final = 300
"""From a click on a packet of the quickstart to its way (ours)."""
_WATCHED_S: Final = 6.0
_CLICKS: Final = 7
_PREPARED_S: Final = 600.0
"""Most that a busy machine takes to play the quickstart again with all traces on (ours)."""


def page_command(
    nodes: Annotated[list[int] | None, typer.Option(min=10, help="Networks of so many nodes; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """The runs' page: pictures a second, and from a click to a packet's way. Needs Chromium on PATH.

    Example: canopy bench page --nodes 200
    """
    if chromium() is None:
        fail("no Chromium on PATH (Debian's package chromium-headless-shell)", EXIT_FAILED)
    try:
        figures = measure(nodes or (200, 1000))
    except RuntimeError as error:
        fail(error, EXIT_FAILED)
    show("The page of a run", figures, as_json=as_json)


def measure(counts: Sequence[int]) -> list[Figure]:
    """All figures. RuntimeError when the page does not work."""
    figures = []
    with tempfile.TemporaryDirectory(prefix="canopy-page-") as temporary:
        for count in counts:
            folder = Path(temporary) / str(count)
            _simulate(network(count), folder)
            target = PICTURES_A_SECOND if count <= 200 else USABLE
            figures.append(Figure(f"{count} nodes", asyncio.run(pictures_a_second(folder)), "pictures/s", target))
        folder = Path(temporary) / "quickstart"
        _simulate(None, folder)
        figures.append(Figure("a packet of the quickstart", asyncio.run(click_ms(folder)), "ms", CLICK_MS, True))
    return figures


def network(count: int) -> dict[str, Any]:
    """A tree of P4 switches with `count` nodes or a few more, a dozen below each switch, and a session to all hosts."""
    nodes: dict[str, Any] = {"s0": {"kind": "p4"}, "sender": {"kind": "host"}}
    links = [{"between": ["sender", "s0"], "rate": "1 Gbps", "delay": "1 ms"}]
    leaves = -(-(count - 2) // 13)  # switches with twelve hosts each
    between = -(-leaves // 12) if leaves > 12 else 0  # and, where they are many, switches above them
    for number in range(1, between + leaves + 1):
        above = 0 if number <= between or not between else 1 + (number - between - 1) // 12
        nodes[f"s{number}"] = {"kind": "p4"}
        links.append({"between": [f"s{above}", f"s{number}"], "rate": "100 Mbps", "delay": "2 ms"})
    hosts = [f"h{number}" for number in range(12 * leaves)]
    for number, host in enumerate(hosts):
        nodes[host] = {"kind": "host"}
        switch = f"s{between + 1 + number // 12}"
        links.append({"between": [switch, host], "rate": "2 Mbps", "delay": "1 ms"})
    session = {"id": 1, "protocol": "tfmcc", "sender": "sender", "group": "232.1.0.1", "port": 5001}
    session |= {"realtime": True, "receivers": hosts}
    described = {"name": f"page-{count}", "seed": 1, "duration": "8 s", "nodes": nodes, "links": links}
    return {**described, "sessions": [session]}


def _simulate(described: dict[str, Any] | None, folder: Path) -> None:
    """Into `folder`; None: the quickstart."""
    path = QUICKSTART
    if described is None:
        scenario = load_scenario(path, purpose="simulate")
    else:
        path = folder.with_suffix(".yaml")
        path.write_text(json.dumps(described), encoding="utf-8")
        scenario = parse_scenario(path.read_text(encoding="utf-8"), str(path))
    simulate_scenario(scenario, SimulationOptions(path, out=folder, report=False))


async def pictures_a_second(folder: Path) -> float:
    """While the run is replayed at its own pace, and as many are drawn as there is time for; the page itself wants no
    more than 30."""
    async with _looking(folder) as browser:
        await browser.ask("canopy.least = 0")
        begin = await browser.ask("canopy.frames")
        await asyncio.sleep(_WATCHED_S)
        return float(await browser.ask("canopy.frames") - begin) / _WATCHED_S


async def click_ms(folder: Path) -> float:
    """From a click on a packet in the list of a switch to its way on the page, the median of `_CLICKS`."""
    times = []
    async with _looking(folder) as browser:
        for click in range(_CLICKS):
            await browser.ask("canopy.graphs[0].onPick(canopy.runs[0], {node: 's1'})")
            await browser.wait_for(f"document.querySelectorAll('.packet').length > {_CLICKS}", _PREPARED_S)
            await browser.ask(f"delete canopy.explained, document.querySelectorAll('.packet')[{click}].click()")
            times.append(float(await browser.wait_for("canopy.explained")))
    return median(times)


@asynccontextmanager
async def _looking(folder: Path) -> AsyncIterator[Browser]:
    """A browser with the run's page, which is ready; RuntimeError at the end when it has shown errors."""
    link: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve([Run(folder)], 0, link.set_result))
    try:
        async with browsing() as browser:
            await browser.open(await link)
            await browser.wait_for("window.canopy && (canopy.ready || canopy.errors.length)", _PREPARED_S)
            yield browser
            if problems := [*browser.problems, *await browser.ask("canopy.errors")]:
                raise RuntimeError(f"the page has errors: {problems}")
    finally:
        server.cancel()
