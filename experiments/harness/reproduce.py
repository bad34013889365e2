"""Runs rows: every case of each with several seeds, in parallel processes, then the relation's judgement."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from experiments.harness.row import (
    LEAST_RUNS,
    QUICK_RUNS,
    Case,
    Curve,
    Experiment,
    Judgement,
    Outcome,
    Row,
    document_digest,
    least_runs,
    rounded,
)
from experiments.harness.runs import (
    ALWAYS_ALONE,
    IN_REAL_TIME,
    Finished,
    Programs,
    Run,
    RunError,
    World,
    execute,
    in_parallel,
)

FIRST_SEED = 1
"""Of a row's runs; figures over time show this one."""


@dataclass(frozen=True, slots=True)
class Options:
    """How rows are run."""

    quick: bool = False
    """Shorter and fewer runs."""
    seeds: int | None = None
    """Runs of each case; None: as many as a reproduction, or a quick look, needs."""
    parallel: int = 2
    """Simulations at a time, and emulations of a quick look. Another emulation has the machine for itself."""

    def runs(self, experiment: Experiment, world: World) -> int:
        """Runs of each case in a world."""
        if self.seeds:
            return self.seeds
        if not self.quick:
            return LEAST_RUNS[world]
        return max(QUICK_RUNS[world], least_runs(experiment.relation))


@dataclass(slots=True)
class RowResult:
    """What became of one row."""

    row: Row
    options: Options
    outcomes: list[Outcome] = field(default_factory=list)
    curves: dict[str, Sequence[Curve]] = field(default_factory=dict)
    """Case -> the lines of its first run, for a figure over time."""
    judgement: Judgement | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the relation holds; not when a run failed, or the row is not built."""
        return self.judgement is not None and self.judgement.holds


@dataclass(frozen=True, slots=True)
class _Found:
    """What one run says to one row."""

    values: Mapping[str, float]
    curves: Sequence[Curve]


@dataclass(frozen=True, slots=True)
class _Need:
    """That a row wants a run of one of its cases."""

    row: Row
    experiment: Experiment
    case_number: int
    case: Case
    seed: int

    def find(self, run: Finished) -> "_Found | RunError":
        """Measure."""
        try:
            values = self.experiment.measure(run)
            wants_curves = self.experiment.curves is not None and self.seed == FIRST_SEED
            return _Found(values, self.experiment.curves(run) if wants_curves and self.experiment.curves else ())
        except ValueError as error:
            return RunError(str(error))

    @property
    def where(self) -> str:
        """For a person."""
        return ", ".join(part for part in (self.case.label, f"seed {self.seed}") if part)


@dataclass(frozen=True, slots=True)
class _Job:
    """One run, for all rows that want the same scenario with the same seed in the same world."""

    run: Run
    needs: list[_Need]

    def work(self, programs: Programs) -> "list[_Found | RunError]":
        return execute(self.run, programs, lambda finished: [need.find(finished) for need in self.needs])


_Values = dict[tuple[str, int], dict[int, _Found]]
"""(Row, case) -> seed -> what was found."""


def reproduce(
    rows: Sequence[Row],
    options: Options,
    on_run: Callable[[int, int], None],
    on_row: Callable[[RowResult], None] = lambda result: None,
) -> list[RowResult]:
    """Run and judge rows. `on_run` is told how many of how many runs are done, `on_row` each row as soon as it is."""
    results = {row.id: RowResult(row, options) for row in rows}
    jobs = _jobs(rows, options)
    emulated = [job for job in jobs if job.run.world in IN_REAL_TIME]
    if emulated and os.geteuid() != 0:
        for row_id in dict.fromkeys(need.row.id for job in emulated for need in job.needs):
            results[row_id].notes.append("the emulated part was left out: it needs root")
        emulated = []
    computed = [job for job in jobs if job.run.world == "formula"]
    simulated = [job for job in jobs if job.run.world not in (*IN_REAL_TIME, "formula")]
    jobs = [*emulated, *_mixed(simulated, computed)]
    values: _Values = defaultdict(dict)
    missing = Counter(need.row.id for job in jobs for need in job.needs)

    def judge(result: RowResult) -> None:
        _judge(result, values)
        on_row(result)

    for result in results.values():
        if not missing[result.row.id]:
            judge(result)
    done = 0
    on_run(done, len(jobs))
    alone = ALWAYS_ALONE if options.quick else IN_REAL_TIME
    together = [job for job in jobs if job.run.world not in alone]
    # Emulations wait for most of their time.
    several = options.parallel + any(job.run.world in IN_REAL_TIME for job in together)
    for batch, parallel in ((together, several), ([job for job in jobs if job.run.world in alone], 1)):
        with closing(in_parallel(batch, _Job.work, parallel)) as finished:
            for job, answer in finished:
                found = [answer] * len(job.needs) if isinstance(answer, RunError) else answer
                for need, one in zip(job.needs, found, strict=True):
                    if isinstance(one, RunError):
                        results[need.row.id].notes.append(f"{need.where}: {one}")
                    else:
                        values[need.row.id, need.case_number][need.seed] = one
                    missing[need.row.id] -= 1
                    if not missing[need.row.id]:
                        judge(results[need.row.id])
                done += 1
                on_run(done, len(jobs))
    return list(results.values())


def _mixed(simulated: Sequence[_Job], computed: Sequence[_Job]) -> list[_Job]:
    """Both, spread evenly among each other: what is computed in this process shares one interpreter's lock, and
    simulations are there for the other processors meanwhile."""
    places = [((number + 0.5) / len(jobs), job) for jobs in (simulated, computed) for number, job in enumerate(jobs)]
    return [job for _, job in sorted(places, key=lambda item: item[0])]


def _jobs(rows: Sequence[Row], options: Options) -> list[_Job]:
    """All runs that rows need, each once."""
    jobs: dict[tuple[World, str, int], _Job] = {}
    for row in rows:
        if row.experiment is None:
            continue
        for number, case in enumerate(row.experiment.cases(options.quick)):
            content = document_digest(case.document)
            for seed in range(FIRST_SEED, FIRST_SEED + options.runs(row.experiment, case.world)):
                run = Run(case.document, seed, case.world)
                job = jobs.setdefault((case.world, content, seed), _Job(run, []))
                job.needs.append(_Need(row, row.experiment, number, case, seed))
    return list(jobs.values())


def _judge(result: RowResult, values: _Values) -> None:
    experiment = result.row.experiment
    if experiment is None:
        result.notes.append(f"not built: needs {result.row.missing}")
        return
    worlds = set()
    for number, exact in enumerate(experiment.cases(result.options.quick)):
        # Judged is what is kept, so that judging that anew says the same.
        case = replace(exact, references={name: rounded(value) for name, value in exact.references.items()})
        worlds.add(case.world)
        by_seed = values.get((result.row.id, number), {})
        found = [by_seed[seed].values for seed in sorted(by_seed)]
        if FIRST_SEED in by_seed and by_seed[FIRST_SEED].curves:
            result.curves[case.label] = by_seed[FIRST_SEED].curves
        for quantity in dict.fromkeys(name for quantities in found for name in quantities):
            column = tuple(rounded(quantities[quantity]) for quantities in found if quantity in quantities)
            if len(column) < len(found):
                where = ", ".join(part for part in (quantity, case.label) if part)
                result.notes.append(f"{where}: in {len(column)} of {len(found)} runs only")
            result.outcomes.append(Outcome(case, quantity, column))
    failures = bool(result.notes)
    try:
        judgement = experiment.relation.judge(result.outcomes)
    except ValueError as error:
        result.notes.append(str(error))
        return
    # A part that is missing can hide what breaks the relation.
    result.judgement = replace(judgement, holds=judgement.holds and not failures)
    result.notes += [
        f"{result.options.runs(experiment, world)} of the {LEAST_RUNS[world]} {world} runs that a reproduction needs"
        for world in sorted(worlds)
        if result.options.runs(experiment, world) < LEAST_RUNS[world]
    ]
