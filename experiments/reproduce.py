"""Runs rows: every case of each with several seeds, in parallel processes, then the relation's judgement."""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from experiments.row import LEAST_RUNS, Case, Judgement, Outcome, Row
from experiments.runs import Finished, Programs, Run, RunError, World, execute, in_parallel


@dataclass(frozen=True, slots=True)
class Options:
    """How rows are run."""

    quick: bool = False
    """Shorter runs."""
    seeds: int | None = None
    """Runs of each case; None: as many as a reproduction needs."""
    parallel: int = 2
    """Simulations at a time. An emulation has the machine for itself."""

    def runs(self, world: World) -> int:
        """Runs of each case in a world."""
        return self.seeds or LEAST_RUNS[world]


@dataclass(slots=True)
class RowResult:
    """What became of one row."""

    row: Row
    options: Options
    outcomes: list[Outcome] = field(default_factory=list)
    judgement: Judgement | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the relation holds; not when a run failed, or the row is not built."""
        return self.judgement is not None and self.judgement.holds


@dataclass(frozen=True, slots=True)
class _Job:
    row: Row
    case_number: int
    case: Case
    seed: int
    measure: Callable[[Finished], Mapping[str, float]]

    def work(self, programs: Programs) -> Mapping[str, float]:
        return execute(Run(self.case.document, self.seed, self.case.world), programs, self.measure)


_Values = dict[tuple[str, int], dict[int, Mapping[str, float]]]
"""(Row, case) -> seed -> quantities."""


def reproduce(rows: Sequence[Row], options: Options, on_run: Callable[[int, int], None]) -> list[RowResult]:
    """Run and judge rows. `on_run` is told how many of how many runs are done."""
    results = {row.id: RowResult(row, options) for row in rows}
    jobs = [job for row in rows for job in _jobs(row, options)]
    emulated = [job for job in jobs if job.case.world == "emu"]
    if emulated and os.geteuid() != 0:
        for row_id in dict.fromkeys(job.row.id for job in emulated):
            results[row_id].notes.append("the emulated part was left out: it needs root")
        emulated = []
    simulated = [job for job in jobs if job.case.world == "sim"]
    total = len(simulated) + len(emulated)
    values: _Values = defaultdict(dict)
    done = 0
    on_run(done, total)
    for batch, parallel in ((simulated, options.parallel), (emulated, 1)):
        with closing(in_parallel(batch, _Job.work, parallel)) as finished:
            for job, measured in finished:
                if isinstance(measured, RunError):
                    where = ", ".join(part for part in (job.case.label, f"seed {job.seed}") if part)
                    results[job.row.id].notes.append(f"{where}: {measured}")
                else:
                    values[job.row.id, job.case_number][job.seed] = measured
                done += 1
                on_run(done, total)
    for result in results.values():
        _judge(result, values)
    return list(results.values())


def _jobs(row: Row, options: Options) -> list[_Job]:
    if row.experiment is None:
        return []
    measure = row.experiment.measure
    return [
        _Job(row, number, case, seed, measure)
        for number, case in enumerate(row.experiment.cases(options.quick))
        for seed in range(1, options.runs(case.world) + 1)
    ]


def _judge(result: RowResult, values: _Values) -> None:
    experiment = result.row.experiment
    if experiment is None:
        result.notes.append(f"not built: needs {result.row.missing}")
        return
    failures = bool(result.notes)
    worlds = set()
    for number, case in enumerate(experiment.cases(result.options.quick)):
        worlds.add(case.world)
        by_seed = values.get((result.row.id, number), {})
        found = [by_seed[seed] for seed in sorted(by_seed)]
        for quantity in dict.fromkeys(name for quantities in found for name in quantities):
            column = tuple(quantities[quantity] for quantities in found if quantity in quantities)
            result.outcomes.append(Outcome(case, quantity, column))
    try:
        judgement = experiment.relation.judge(result.outcomes)
    except ValueError as error:
        result.notes.append(str(error))
        return
    # A part that is missing can hide what breaks the relation.
    result.judgement = Judgement(judgement.holds and not failures, judgement.measured, judgement.where)
    result.notes += [
        f"{result.options.runs(world)} of the {LEAST_RUNS[world]} {world} runs that a reproduction needs"
        for world in sorted(worlds)
        if result.options.runs(world) < LEAST_RUNS[world]
    ]
