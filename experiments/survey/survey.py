"""A survey: every protocol in every cell, and the reference runs of each cell, which all protocols share."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hosts
from experiments.harness.jobs import Done, Job, RunAll, make_folder, run_jobs, write_whole
from experiments.harness.row import document_digest
from experiments.harness.runs import Run, scenario_text
from experiments.survey import measures
from experiments.survey.distribution import Cell
from experiments.survey.kinds import drawn
from experiments.survey.outcome import Outcome, judge
from experiments.survey.references import candidates
from experiments.survey.scenario import reference_document, session_document

CELLS, RUNS = "cells", "runs"
"""Folders of a survey: scenarios, and results."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for."""

    protocols: Sequence[str]
    cells: int
    seed: int
    is_full: bool = False
    """Cells beyond the bound are run, too."""
    only: str = ""
    """The kind of all cells (kinds.py); empty: any."""


@dataclass(slots=True)
class Surveyed:
    """What came of it: outcomes by cell and, in the plan's order, protocol."""

    plan: Plan
    outcomes: list[Outcome]
    failures: list[str] = field(default_factory=list)
    """Runs without a result, and why."""
    reused: int = 0
    """Results that were there before."""


@dataclass(frozen=True, slots=True)
class _CellJobs:
    """A cell's runs; none of one that is left out."""

    cell: Cell
    references: Mapping[str, Job]
    """By receiver."""
    sessions: Mapping[str, Job]
    """By protocol."""


def survey(plan: Plan, folder: Path, run_all: RunAll, on_run: Callable[[int, int], None]) -> Surveyed:
    """Run what `folder` has no results of, and judge. JobsError; ValueError for an unknown protocol."""
    code = _Code()
    cells = [_jobs(cell, plan, code) for cell in drawn(plan.seed, plan.cells, plan.only)]
    make_folder(folder / CELLS)
    for of_cell in cells:
        for protocol in plan.protocols:
            path = scenario_path(folder, of_cell.cell, protocol)
            write_whole(path, scenario_text(session_document(of_cell.cell, protocol)))
    jobs = [job for of_cell in cells for job in (*of_cell.references.values(), *of_cell.sessions.values())]
    done = run_jobs(jobs, folder / RUNS, run_all, on_run)
    outcomes = [outcome for of_cell in cells for outcome in _outcomes(of_cell, plan, done)]
    failures = [f"{job.name}: {done.failures[job.key]}" for job in jobs if job.key in done.failures]
    return Surveyed(plan, outcomes, failures, done.reused)


def scenario_path(folder: Path, cell: Cell, protocol: str) -> Path:
    """The file with which `canopy simulate` repeats a cell."""
    return folder / CELLS / f"{cell.number:04d}-{protocol}.yaml"


def _jobs(cell: Cell, plan: Plan, code: "_Code") -> _CellJobs:
    if cell.is_beyond and not plan.is_full:
        return _CellJobs(cell, {}, {})
    references = {
        receiver: code.job(
            cell, f"tcp-{receiver}", reference_document(cell, receiver), measures.reference_measure(cell)
        )
        for receiver in candidates(cell)
    }
    sessions = {
        protocol: code.job(cell, protocol, session_document(cell, protocol), measures.session_measure(cell), code.hosts)
        for protocol in plan.protocols
    }
    return _CellJobs(cell, references, sessions)


class _Code:
    """What results depend on beside their scenarios. (Not the engine: after a change to it take another folder.)"""

    def __init__(self) -> None:
        self.hosts = _digest(_fingerprint(Path(hosts.__file__).parent))
        self._measures = _digest(Path(measures.__file__).read_text(encoding="utf-8"))

    def job(
        self, cell: Cell, contender: str, document: dict[str, Any], measure: Callable[..., Any], code: str = ""
    ) -> Job:
        """A run; `code` is of what runs in it."""
        digest = _digest([document_digest(document), self._measures, code])
        key = f"{cell.number:04d}-{contender}-{digest}"
        return Job(key, f"cell {cell.number}, {contender}", Run(document, document["seed"]), measure)


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _outcomes(of_cell: _CellJobs, plan: Plan, done: Done) -> Iterator[Outcome]:
    for protocol in plan.protocols:
        if protocol not in of_cell.sessions:
            yield Outcome(of_cell.cell, protocol, "left out")
            continue
        needed = (of_cell.sessions[protocol], *of_cell.references.values())
        missing = [f"{job.name}: {done.failures[job.key]}" for job in needed if job.key in done.failures]
        if missing:
            yield Outcome(of_cell.cell, protocol, "failed", "; ".join(missing))
            continue
        metrics, *references = (done.results[job.key] for job in needed)
        yield judge(of_cell.cell, protocol, metrics, references)


def _fingerprint(folder: Path) -> dict[str, str]:
    """Path below `folder` -> hash, of each file of a package but hidden ones and what Python made. OSError."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }
