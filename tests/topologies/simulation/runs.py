"""Runs a scenario's text in virtual time, for tests."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from topologies.results.run_folder import read_series
from topologies.results.summary import Summary
from topologies.scenario import load_scenario
from topologies.simulation.runner import SimulationOptions, simulate_scenario, with_routers

TREE = """\
name: tree
seed: 1
duration: 60 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  s3: {kind: p4}
  sender: {kind: host}
  r1: {kind: host}
  r2: {kind: host}
  r3: {kind: host}
  r4: {kind: host}
links:
  - {between: [sender, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [s1, s2], rate: 10 Mbps, delay: 5 ms, queue: {kind: droptail, packets: 50}}
  - {between: [s1, s3], rate: 12 Mbps, delay: 3 ms, queue: {kind: droptail, packets: 50}}
  - {between: [s2, r1], rate: 50 Mbps, delay: 2 ms}
  - {between: [s2, r2], rate: 50 Mbps, delay: 9 ms}
  - {between: [s3, r3], rate: 50 Mbps, delay: 1 ms}
  - {between: [s3, r4], rate: 50 Mbps, delay: 6 ms%s}
"""
"""Three switches, four receivers; what is filled in goes to the last link."""

SESSION = """\
sessions:
  - id: 1
    protocol: mtcp
    sender: sender
    group: 232.1.0.1
    port: 5001
    size: %s
    start: %s
    slow_receivers: {drop_after: 3 s}
    receivers: [{host: r1, join: %s}, {host: r2, join: %s}, {host: r3, join: %s}, {host: r4, join: %s}]
"""


def tree(last_link: str = "") -> str:
    """The tree, with more fields for the link to r4."""
    return TREE % last_link


def session(size: str = "500 kB", start: float = 0.0, join: float = 0.0) -> str:
    """One session from `sender` to all four receivers."""
    return SESSION % (size, f"{start} s", *[f"{join} s"] * 4)


def scenario_text(head: str, nodes: Mapping[str, str], links: Iterable[str], *more: str) -> str:
    """A scenario's text, line by line: nodes with their kinds, links ("[one, other], rate: ..."), and the sections that
    come after them."""
    return "\n".join(
        (
            head,
            "nodes:",
            *(f"  {name}: {{kind: {kind}}}" for name, kind in nodes.items()),
            "links:",
            *(f"  - {{between: {link}}}" for link in links),
            *more,
        )
    )


class Run:
    """A run that is over."""

    def __init__(self, summary: Summary, folder: Path) -> None:
        self.summary = summary
        self.folder = folder

    def series(self, name: str) -> list[dict[str, Any]]:
        """The rows of one of its time series."""
        return read_series(self.folder / "series" / f"{name}.jsonl")

    def sender(self) -> dict[str, Any]:
        """The last row of session 1's sender."""
        return self.series("session-1-sender")[-1]

    def files(self) -> dict[str, bytes]:
        """All its time series, as they are."""
        return {path.name: path.read_bytes() for path in sorted((self.folder / "series").iterdir())}


def simulate(
    folder: Path,
    text: str,
    *,
    seed: int | None = None,
    routers: bool = False,
    until: float | None = None,
    keep_files: bool = False,
    report: bool = False,
    file: Path | None = None,
) -> Run:
    """Run the scenario in `text` into the new `folder`. A report takes longer to draw than most runs take."""
    path = folder.with_suffix(".yaml")
    path.write_text(text, encoding="utf-8")
    scenario = load_scenario(path, purpose="simulate")
    if seed is not None:
        scenario = scenario.model_copy(update={"seed": seed})
    if routers:
        scenario = with_routers(scenario)
    options = SimulationOptions(path, out=folder, until=until, keep_files=keep_files, report=report, file=file)
    return Run(simulate_scenario(scenario, options), folder)
