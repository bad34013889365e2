"""Many runs, as processes here or on a cluster: what a folder has the result of is not run again."""

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from engine.command import whole
from experiments.harness.runs import Finished, Programs, Run, RunError, execute, in_parallel

Metrics: TypeAlias = dict[str, Any]
"""What is measured in a run, as JSON has it."""


class JobsError(Exception):
    """Nothing can be run, or kept; one line for the user."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run, and what is measured in it."""

    key: str
    """Of all that the result depends on; the name of its file."""
    name: str
    """For messages."""
    run: Run
    measure: Callable[[Finished], Metrics]
    """Can be pickled."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What is kept beside the result."""


@dataclass(slots=True)
class Done:
    """What came of some jobs."""

    results: dict[str, Metrics] = field(default_factory=dict)
    """By the job's key."""
    failures: dict[str, str] = field(default_factory=dict)
    """Likewise: why there is no result."""
    reused: int = 0
    """Results that were there before."""


RunAll: TypeAlias = Callable[[Sequence[Job]], Generator[tuple[Job, Metrics | RunError], None, None]]
"""Runs jobs, and gives each with its result as it ends; closing it ends those that still run. JobsError."""


def local(parallel: int) -> RunAll:
    """Runs jobs as processes on this machine, so many at a time."""

    def work(job: Job, programs: Programs) -> Metrics:
        return execute(job.run, programs, job.measure)

    return lambda jobs: in_parallel(jobs, work, parallel)


def run_jobs(jobs: Sequence[Job], folder: Path, run_all: RunAll, on_run: Callable[[int, int], None]) -> Done:
    """Run the jobs that `folder` has no result of; each result is kept as soon as it is there. JobsError.

    `on_run` is told how many of how many are through."""
    make_folder(folder)
    done = Done({job.key: found for job in jobs if (found := _read(folder, job)) is not None})
    done.reused = len(done.results)
    on_run(done.reused, len(jobs))
    with closing(run_all([job for job in jobs if job.key not in done.results])) as finished:
        for job, result in finished:
            if isinstance(result, RunError):
                done.failures[job.key] = str(result)
            else:
                done.results[job.key] = result
                kept = {**job.notes, "sha256": _digest(result), "metrics": result}
                write_whole(folder / f"{job.key}.json", json.dumps(kept, indent=1) + "\n")
            on_run(len(done.results) + len(done.failures), len(jobs))
    return done


def make_folder(folder: Path) -> None:
    """JobsError when it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JobsError(f"{error.filename or folder}: {error.strerror or error}") from None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, for whoever writes it may be killed at any time. JobsError."""
    try:
        whole.write_whole(path, content)
    except OSError as error:
        raise JobsError(f"{path}: {error.strerror or error}") from None


def _read(folder: Path, job: Job) -> Metrics | None:
    """What was kept; None: nothing, or it is damaged, so that the run is made again."""
    try:
        kept = json.loads((folder / f"{job.key}.json").read_bytes())
        return dict(kept["metrics"]) if kept["sha256"] == _digest(kept["metrics"]) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _digest(metrics: Metrics) -> str:
    return hashlib.sha256(json.dumps(metrics).encode()).hexdigest()
