"""A survey as one page with nothing to load: verdicts, distributions, every dimension, and the worst cells."""

import base64
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from experiments.figures.survey import Verdicts, counted, number, part
from experiments.harness.jobs import write_whole
from experiments.survey import pictures
from experiments.survey.outcome import Outcome
from experiments.survey.scenario import describe
from experiments.survey.survey import Surveyed, scenario_path

FILE_NAME: Final = "survey.html"
WORST: Final = 10
"""Cells of a protocol that are shown."""


def write_page(surveyed: Surveyed, verdicts: Verdicts, table: pl.DataFrame, folder: Path) -> None:
    """Draw it and write it into the folder, whole or not at all. JobsError."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(image=_image, part=part, number=number, count=counted)
    protocols = surveyed.plan.protocols
    page = environment.get_template("page.html.j2").render(
        verdicts=verdicts,
        distributions=pictures.distributions(table, protocols),
        scatter=pictures.scatter(table, protocols),
        worst={protocol: [_shown(one, folder) for one in worst(surveyed.outcomes, protocol)] for protocol in protocols},
        failures=surveyed.failures,
    )
    write_whole(folder / FILE_NAME, page)


def worst(outcomes: Sequence[Outcome], protocol: str) -> list[Outcome]:
    """The cells in which a protocol is farthest from what is asked for, the worst first; none where all is there."""
    bad = [one for one in outcomes if one.protocol == protocol and one.metrics is not None and one.badness > 0]
    return sorted(bad, key=lambda one: (-one.badness, one.cell.number))[:WORST]


def command(outcome: Outcome, folder: Path) -> str:
    """What repeats it."""
    return shlex.join(["canopy", "simulate", str(scenario_path(folder, outcome.cell, outcome.protocol))])


def faults(outcome: Outcome) -> str:
    """What is not as it should be, for a person."""
    found = []
    if outcome.is_enough is False:
        found.append(f"{part(outcome.of_tcp)} of TCP's")
    if outcome.is_fair is False:
        found.append(f"{number(outcome.share)} times the TCPs beside it")
    if outcome.recovers is False:
        after = "in this run" if outcome.recovery_s is None else f"before {outcome.recovery_s:.0f} s"
        found.append(f"no recovery {after}")
    if outcome.stalls and outcome.metrics is not None:
        found.append(f"{outcome.metrics['stalled']} stands still for {outcome.metrics['stall_s']:.0f} s")
    if outcome.collapses:
        found.append("collapsed")
    return ", ".join(found)


def _shown(outcome: Outcome, folder: Path) -> dict[str, Any]:
    return {
        "number": outcome.cell.number,
        "network": describe(outcome.cell),
        "faults": faults(outcome),
        "course": pictures.course(outcome),
        "command": command(outcome, folder),
    }


def _image(svg: str) -> str:
    """As an address: a picture's names and styles stay its own."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
