"""The files of topologies/ on a scenario's way from the command line to a finished run folder, by watching a run.

A file is on the way when one of its functions holds the scenario, as a variable or in its object: the YAML document,
the `Scenario`, or a session, receiver, flow or fault of it. (Of nodes and links the plan is made, which is passed on in
their place.) The files that declare these are what travels, and are not counted.

As a program it prints them, in the order in which the scenario comes there:
`python -m tests.topologies.whole.way simulate FILE --out FOLDER`.
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import typer

import topologies
from topologies import cli
from topologies.results import plots
from topologies.scenario import activity, load, scenario, session

ROOT = Path(topologies.__file__).parent
MODELS = (scenario, session, activity)
PARTS = (
    load.Document,
    *(
        model
        for module in MODELS
        for model in vars(module).values()
        if isinstance(model, type) and model.__module__ == module.__name__
    ),
)
TIME_LIMIT_S = 300.0
"""Of a watched run, on a machine that is busy with other things."""
DECLARATIONS = {module.__file__ for module in MODELS}


WAY = (
    "cli.py",
    "scenario/load.py",
    "scenario/checks.py",
    "{world}/runner.py",
    "plan.py",
    "{world}/stage.py",
    "{world}/session_run.py",
    "{world}/flow_run.py",
    "play.py",
    "results/summary.py",
    "results/bottleneck.py",
    "results/report.py",
)
"""docs/architecture.md, Seam 3; `world` is `emulation` or `simulation`."""
EVERYTHING = """\
name: way
duration: 6 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  a: {kind: host}
  b: {kind: host}
  c: {kind: host}
links:
  - {between: [a, s1], rate: 50 Mbps}
  - {between: [s1, s2], rate: 10 Mbps, delay: 2 ms}
  - {between: [s2, b], rate: 50 Mbps}
  - {between: [s2, c], rate: 50 Mbps}
sessions:
  - id: 1
    protocol: mtcp
    sender: a
    group: 232.1.0.1
    port: 5001
    size: 100 kB
    slow_receivers: {drop_after: 4 s}
    receivers: [b, {host: c, leave: 1 s}]
traffic:
  - {kind: tcp, source: a, destination: b, stop: 1 s}
faults:
  - {kind: link-down, at: 1 s, link: [s1, s2], duration: 100 ms}
  - {kind: switch-restart, at: 1500 ms, switch: s2}
  - {kind: controller-restart, at: 2 s}
  - {kind: receiver-dies, at: 4 s, session: 1, host: b}
"""
"""A scenario that has something of all that a run does."""


class Watch:
    """Calls and returns of functions in topologies/."""

    def __init__(self) -> None:
        self.way: list[str] = []

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        """As `sys.setprofile` calls it."""
        name = frame.f_code.co_filename
        if event not in ("call", "return") or name in DECLARATIONS or not name.startswith(f"{ROOT}/"):
            return
        here = name.removeprefix(f"{ROOT}/")
        if here not in self.way and any(holds(held) for held in (value, *frame.f_locals.values())):
            self.way.append(here)


def holds(value: object) -> bool:
    """Whether it is the scenario or a part of it, or an object of topologies/ that keeps one."""
    if isinstance(value, PARTS):
        return True
    if not type(value).__module__.startswith("topologies."):
        return False
    kept = list(vars(value).values()) if hasattr(value, "__dict__") else []
    kept += [getattr(value, slot, None) for slot in getattr(type(value), "__slots__", ())]
    return any(isinstance(one, PARTS) for one in kept)


def watched_way(world: str, folder: Path, **environment: str) -> list[str]:
    """The files of a run of `EVERYTHING` in the empty `folder`, sorted."""
    path = folder / "way.yaml"
    path.write_text(EVERYTHING, encoding="utf-8")
    command = "emulate" if world == "emulation" else "simulate"
    ran = subprocess.run(
        [sys.executable, "-m", __name__, command, str(path), "--out", str(folder / "run"), "--json"],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
        text=True,
        timeout=TIME_LIMIT_S,
    )
    assert (folder / "run" / "report.html").exists(), ran.stderr
    return sorted(ran.stderr.split())


def main() -> None:
    """Run `canopy` and print the way, one file a line, on standard error."""
    for path in sorted(ROOT.rglob("*.py")):  # what a module does when it is imported is no run's doing
        importlib.import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    watch = Watch()
    command = typer.main.get_command(cli.app)
    # What matplotlib does with a figure takes longer than all the rest where each call is watched.
    with patch.object(plots, "_svg", return_value=""):
        sys.setprofile(watch)
        try:
            command(sys.argv[1:], prog_name="canopy")
        finally:
            sys.setprofile(None)
            print("\n".join(watch.way), file=sys.stderr)


if __name__ == "__main__":
    main()
