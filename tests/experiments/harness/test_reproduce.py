import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.figures.plot import draw, write
from experiments.harness.kept import kept_result, kept_rows
from experiments.harness.origin import Made
from experiments.harness.relations import EachBetween, Every, NearReference, Only, Ordered
from experiments.harness.reproduce import Options, RowResult, reproduce
from experiments.harness.results_folder import keep, summary
from experiments.harness.row import (
    LEAST_RUNS,
    QUICK_RUNS,
    Case,
    Curve,
    Experiment,
    Figure,
    Outcome,
    Relation,
    Row,
    Timeline,
)
from experiments.harness.runs import Finished, Programs, Run, RunError, in_parallel
from tests.experiments.networks import small
from topologies.results.run_folder import RunFolder

AT_LEAST_2 = EachBetween(least=2)
FIGURE = Figure("load", {"rate": "Mbit/s"}, "theory", log_x=True)


def measure(run: Finished) -> Mapping[str, float]:
    return {"rate": float(run.run.seed)}


def make_row(cases: Sequence[Case], relation: Relation = AT_LEAST_2) -> Row:
    experiment = Experiment(lambda quick: cases, measure, relation, FIGURE)
    return Row("a-row", "a-paper", "sim", "title", "value", "counts", "Mbit/s", experiment)


def built(row: Row) -> Experiment:
    assert row.experiment is not None
    return row.experiment


def quiet(done: int, total: int) -> None:
    pass


def test_a_quick_row_has_the_runs_that_its_relation_needs() -> None:
    order = Every([AT_LEAST_2, Only(Ordered(), "rate")])
    quick = Options(quick=True)
    assert quick.runs(built(make_row([])), "sim") == 1
    assert quick.runs(built(make_row([], order)), "sim") == 2
    assert quick.runs(built(make_row([], order)), "formula") == QUICK_RUNS["formula"]
    assert Options().runs(built(make_row([], order)), "sim") == LEAST_RUNS["sim"]
    assert Options(quick=True, seeds=1).runs(built(make_row([], order)), "sim") == 1


@pytest.fixture
def fake_runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Runs are noted, and measured without being made; seed 13 fails."""
    runs: list[Run] = []

    def execute(run: Run, programs: Programs, measure: Callable[[Finished], object]) -> object:
        runs.append(run)
        if run.seed == 13:
            raise RunError("unlucky")
        return measure(Finished(run, {}, RunFolder(Path())))

    monkeypatch.setattr("experiments.harness.reproduce.execute", execute)
    return runs


def test_a_row_is_run_with_five_seeds_and_judged_by_its_mean(fake_runs: list[Run]) -> None:
    seen: list[tuple[int, int]] = []
    row = make_row([Case("one", {"case": 1}, x=1), Case("two", {"case": 2}, x=2)])
    (result,) = reproduce([row], Options(), lambda done, total: seen.append((done, total)))
    assert sorted(run.seed for run in fake_runs) == sorted([1, 2, 3, 4, 5] * 2)
    assert result.holds
    assert result.judgement is not None
    assert result.judgement.measured.mean == 3.0
    assert result.notes == []
    assert seen[0] == (0, 10)
    assert seen[-1] == (10, 10)


def test_a_verdict_is_of_the_numbers_that_are_kept(fake_runs: list[Run], tmp_path: Path) -> None:
    """Whoever judges them anew finds the same, digit by digit."""
    row = make_row([Case("one", {"case": 1}, references={"rate": 1 / 3})], NearReference(tolerance=0.5))
    row = replace(row, experiment=replace(built(row), measure=lambda run: {"rate": run.run.seed / 11}))
    (result,) = reproduce([row], Options(), quiet)
    assert keep(result, Made(), tmp_path, spare_fuller=False)
    (entry,) = kept_rows([row], tmp_path)
    assert summary(kept_result(entry)) == summary(result)
    assert summary(result)["measured"] == 0.8182  # of all digits it is 0.81818


def test_what_two_rows_want_is_run_once(fake_runs: list[Run]) -> None:
    one = make_row([Case("one", {"case": 1}), Case("two", {"case": 2})])
    other = replace(one, id="b-row", experiment=replace(built(one), cases=lambda quick: [Case("2", {"case": 2})]))
    results = reproduce([one, other], Options(seeds=3), quiet)
    assert len(fake_runs) == 6
    assert [outcome.case.label for result in results for outcome in result.outcomes] == ["one", "two", "2"]
    assert all(list(outcome.values) == [1.0, 2.0, 3.0] for result in results for outcome in result.outcomes)


def test_a_row_is_judged_as_soon_as_its_runs_are_through(fake_runs: list[Run]) -> None:
    first = make_row([Case("one", {"case": 1})])
    second = replace(first, id="b-row", experiment=replace(built(first), cases=lambda quick: [Case("2", {"case": 2})]))
    course: list[object] = []

    def on_row(result: RowResult) -> None:
        course.append((result.row.id, result.holds))

    def on_run(done: int, total: int) -> None:
        course.append(done)

    reproduce([first, second], Options(seeds=3, parallel=1), on_run, on_row)
    assert course == [0, 1, 2, ("a-row", True), 3, 4, 5, ("b-row", True), 6]


def test_curves_are_those_of_the_first_run(fake_runs: list[Run]) -> None:
    def curves(run: Finished) -> Sequence[Curve]:
        return [Curve("rate", [(0.0, 0.0), (1.0, float(run.run.seed))])]

    row = make_row([Case("one", {"case": 1}), Case("two", {"case": 2})])
    row = replace(row, experiment=replace(built(row), figure=Timeline("KB/s"), curves=curves))
    (result,) = reproduce([row], Options(seeds=2), quiet)
    assert {label: lines[0].points[1] for label, lines in result.curves.items()} == {"one": (1, 1), "two": (1, 1)}
    assert draw(result).count("KB/s") == 2


def test_fewer_runs_than_a_reproduction_needs_are_told(fake_runs: list[Run]) -> None:
    (result,) = reproduce([make_row([Case("", {})], EachBetween(least=1))], Options(seeds=2), quiet)
    assert result.holds
    assert result.notes == ["2 of the 5 sim runs that a reproduction needs"]


def test_a_row_with_a_failed_run_does_not_hold(fake_runs: list[Run]) -> None:
    (result,) = reproduce([make_row([Case("one", {})])], Options(seeds=13), quiet)
    assert not result.holds
    assert result.notes == ["one, seed 13: unlucky"]
    assert len(result.outcomes[0].values) == 12


def test_a_row_with_a_quantity_that_some_runs_lack_does_not_hold(fake_runs: list[Run]) -> None:
    """Its mean would be one of fewer runs than the row has."""
    row = make_row([Case("one", {})])
    measure_some = replace(built(row), measure=lambda run: {"rate": 3.0} if run.run.seed < 4 else {"other": 3.0})
    (result,) = reproduce([replace(row, experiment=measure_some)], Options(), quiet)
    assert not result.holds
    assert result.notes == ["rate, one: in 3 of 5 runs only", "other, one: in 2 of 5 runs only"]


def test_a_row_that_is_not_built_does_not_hold() -> None:
    row = Row("b-row", "a-paper", "sim", "title", "value", "counts", missing="the protocol x")
    (result,) = reproduce([row], Options(), quiet)
    assert not result.holds
    assert result.notes == ["not built: needs the protocol x"]
    assert summary(result) == {
        "row": "b-row",
        "paper": "value",
        "measured": None,
        "interval": None,
        "unit": "",
        "holds": False,
    }


def test_emulated_parts_need_root_and_the_rest_runs(fake_runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (result,) = reproduce([make_row([Case("kernel", {}, "emu"), Case("sim", {})])], Options(), quiet)
    assert {run.world for run in fake_runs} == {"sim"}
    assert not result.holds
    assert "needs root" in result.notes[0]


def test_emulations_have_the_machine_for_themselves_but_for_a_quick_look(
    fake_runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[tuple[list[str], int]] = []
    started = in_parallel

    def noted(jobs: Any, work: Any, parallel: int) -> Any:
        batches.append(([job.run.world for job in jobs], parallel))
        return started(jobs, work, parallel)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("experiments.harness.reproduce.in_parallel", noted)
    row = make_row([Case(world, {"world": world}, world) for world in ("sim", "emu", "lan")])
    reproduce([row], Options(seeds=1), quiet)
    assert batches == [(["sim"], 2), (["emu", "lan"], 1)]
    batches.clear()
    reproduce([row], Options(seeds=1, quick=True), quiet)
    assert batches == [(["emu", "sim"], 3), (["lan"], 1)]


def test_what_is_computed_comes_between_simulations(fake_runs: list[Run]) -> None:
    """It shares one interpreter's lock; together it would leave all processors but one idle."""
    computed = make_row([Case(f"{number}", {"case": number}, "formula") for number in range(4)])
    simulated = make_row([Case(f"{number}", {"case": number}) for number in range(2)])
    rows = [replace(computed, id="computed"), replace(simulated, id="simulated")]
    reproduce(rows, Options(parallel=1, seeds=1), quiet)
    assert [run.world for run in fake_runs] == ["formula", "sim", "formula"] * 2


def test_a_row_needs_either_an_experiment_or_a_reason() -> None:
    with pytest.raises(ValueError, match="either"):
        Row("c", "p", "sim", "t", "v", "c")


def test_a_real_run_from_scenario_to_verdict_and_files(tmp_path: Path) -> None:
    def received(run: Finished) -> Mapping[str, float]:
        return {"rate": run.summary["flows"][0]["goodput_bps"] / 1e6}

    cases = [Case("lossy", small(loss=0.1), x=0.1, references={"rate": 0.9})]
    row = Row(
        "d-row", "p", "sim", "t", "v", "c", "x", Experiment(lambda quick: cases, received, NearReference(0.1), FIGURE)
    )
    (result,) = reproduce([row], Options(seeds=2), quiet)
    assert result.holds, result.notes
    assert len(set(result.outcomes[0].values)) == 2, "another seed gives another result"
    assert keep(result, Made(), tmp_path, spare_fuller=True)
    kept = json.loads((tmp_path / "d-row.json").read_text())
    assert kept["cases"][0]["values"][result.outcomes[0].quantity] == list(result.outcomes[0].values)
    assert kept["interval"][0] < kept["measured"] < kept["interval"][1]
    write(result, tmp_path)
    assert (tmp_path / "d-row.svg").read_text().startswith("<svg")


def test_the_same_result_is_the_same_picture() -> None:
    case = Case("one", {}, x=1.0, references={"rate": 2.0})
    result = RowResult(make_row([]), Options(quick=True), [Outcome(case, "rate", [1.0, 2.0])])
    text = draw(result)
    assert text == draw(result)
    assert "Date" not in text
