import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.kept import KeptError, kept_digest, kept_result, kept_rows, read_kept, standing
from experiments.harness.origin import Made
from experiments.harness.relations import EachBetween
from experiments.harness.reproduce import Options, RowResult
from experiments.harness.results_folder import RESULTS, judge_anew, keep, summary
from experiments.harness.row import Case, Experiment, Figure, Outcome, Row, with_assistance
from experiments.harness.statistics import mean_interval
from experiments.rows import ROWS

FIGURE = Figure("load", {"rate": "Mbit/s"}, "theory", log_x=True)
MADE = Made(date="2026-01-31", world="sim", canopy="0.1.0", commit="0123456789ab", hosts="interpreted")


def result_of(values: Sequence[float], *, quick: bool, document: Any = None) -> RowResult:
    """Of a row with one case, whose quick document is another."""
    full = Case("one", document or {"load": 1}, x=1.0, references={"rate": 2.0})
    short = Case("one", {"load": 1, "quick": True}, x=1.0)

    def cases(is_quick: bool) -> Sequence[Case]:
        return [short if is_quick else full]

    experiment = Experiment(cases, lambda run: {}, EachBetween(least=2), FIGURE)
    row = Row("a-row", "a-paper", "sim", "title", "value", "counts", "Mbit/s", experiment)
    return RowResult(row, Options(quick=quick), [Outcome(cases(quick)[0], "rate", values)])


def kept_json(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "a-row.json").read_text())
    return found


def test_a_file_says_where_its_result_comes_from(tmp_path: Path) -> None:
    result = result_of([1.0, 2.0], quick=False)
    assert keep(result, MADE, tmp_path, spare_fuller=True)
    kept = kept_json(tmp_path)
    assert kept["made"] == {
        "date": "2026-01-31",
        "world": "sim",
        "canopy": "0.1.0",
        "commit": "0123456789ab",
        "hosts": "interpreted",
    }
    assert kept["quick"] is False
    assert kept["cases"][0]["scenario"] == kept_digest({"load": 1})
    read = read_kept(tmp_path / "a-row.json")
    assert read is not None
    assert read.made == MADE
    assert standing(read, result.row).state == "current"


def test_a_case_says_its_world_where_not_all_are_of_one(tmp_path: Path) -> None:
    result = result_of([1.0], quick=False)
    for of_all, said in (("sim", None), ("emu, sim", "sim")):
        keep(result, MADE.model_copy(update={"world": of_all}), tmp_path, spare_fuller=False)
        assert kept_json(tmp_path)["cases"][0].get("world") == said
        read = read_kept(tmp_path / "a-row.json")
        assert read is not None
        assert [case.world for case in read.cases] == ["sim"]


def test_a_quick_result_does_not_replace_a_full_one(tmp_path: Path) -> None:
    assert keep(result_of([1.0, 2.0], quick=False), MADE, tmp_path, spare_fuller=True)
    assert not keep(result_of([1.0] * 9, quick=True), MADE, tmp_path, spare_fuller=True)
    assert not keep(result_of([1.0], quick=False), MADE, tmp_path, spare_fuller=True)
    assert keep(result_of([1.0, 2.0, 3.0], quick=False), MADE, tmp_path, spare_fuller=True)
    assert keep(result_of([1.0], quick=True), MADE, tmp_path, spare_fuller=False)
    nothing = RowResult(result_of([1.0], quick=False).row, Options())
    assert not keep(nothing, MADE, tmp_path, spare_fuller=False)


def test_a_full_result_of_another_scenario_is_replaced_and_a_note_says_so(tmp_path: Path) -> None:
    old, later = {"load": 1}, {"load": 2}
    assert keep(result_of([1.0] * 5, quick=False, document=old), MADE, tmp_path, spare_fuller=True)
    for quick in (True, False):
        keep(result_of([1.0] * 5, quick=False, document=old), MADE, tmp_path, spare_fuller=False)
        result = result_of([1.0], quick=quick, document=later)
        assert keep(result, MADE, tmp_path, spare_fuller=True)
        assert result.notes == ["takes the place of a fuller result, which was not of today's scenarios"]
        assert kept_json(tmp_path)["notes"] == [], "it says nothing of the runs"
    assert not keep(result_of([1.0], quick=True, document=later), MADE, tmp_path, spare_fuller=True)


def test_a_result_with_no_more_runs_is_replaced_without_a_note(tmp_path: Path) -> None:
    for document in ({"load": 1}, {"load": 2}):
        result = result_of([1.0], quick=False, document=document)
        assert keep(result, MADE, tmp_path, spare_fuller=True)
        assert result.notes == []


def test_a_fuller_result_from_before_digests_stays(tmp_path: Path) -> None:
    keep(result_of([1.0] * 5, quick=False), MADE, tmp_path, spare_fuller=True)
    older = kept_json(tmp_path)
    del older["made"], older["cases"][0]["scenario"]
    older["cases"][0]["world"] = "sim"
    (tmp_path / "a-row.json").write_text(json.dumps(older))
    assert not keep(result_of([1.0], quick=False, document={"load": 2}), MADE, tmp_path, spare_fuller=True)
    assert keep(result_of([1.0] * 5, quick=False), MADE, tmp_path, spare_fuller=True)
    assert kept_json(tmp_path)["made"]["commit"] == MADE.commit


def test_what_is_no_number_is_kept_as_json_that_others_can_read(tmp_path: Path) -> None:
    keep(result_of([1.0, float("nan")], quick=False), MADE, tmp_path, spare_fuller=True)

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    kept = json.loads((tmp_path / "a-row.json").read_text(), parse_constant=refuse)
    (values,) = kept["cases"][0]["values"].values()
    assert values == [1.0, None]


def test_a_kept_result_is_judged_anew_from_its_values(tmp_path: Path) -> None:
    """As if it had been judged so when it was made; nothing else of the file changes."""
    result = result_of([2.5, float("nan"), 3.5], quick=False)
    keep(replace(result, judgement=EachBetween(least=2).judge(result.outcomes)), MADE, tmp_path, spare_fuller=True)
    assert not kept_json(tmp_path)["holds"], "what is no number does not hold"
    result = result_of([2.5, 3.5], quick=False)
    keep(result, MADE, tmp_path, spare_fuller=False)
    before = kept_json(tmp_path)
    assert (before["measured"], before["holds"]) == (None, False), "it was not judged"
    (entry,) = kept_rows([result.row], tmp_path)
    judged = judge_anew(entry, tmp_path)
    after = kept_json(tmp_path)
    assert str(judged) == "a-row: does not hold, nothing () -> holds, 3 Mbit/s (rate, one)"
    assert (after["measured"], after["unit"], after["where"], after["holds"]) == (3.0, "Mbit/s", "rate, one", True)
    expected = mean_interval([2.5, 3.5])
    assert after["interval"] == pytest.approx([expected.low, expected.high], rel=1e-5)
    assert {name for name in after if after[name] != before[name]} == {"measured", "interval", "holds", "where"}
    text = (tmp_path / "a-row.json").read_text()
    (entry,) = kept_rows([result.row], tmp_path)
    again = judge_anew(entry, tmp_path)
    assert again.before == again.after
    assert (tmp_path / "a-row.json").read_text() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"notes": ["one, seed 2: unlucky"]}, "not all runs are there: one, seed 2: unlucky"),
        ({"cases": [{"case": "two", "world": "sim", "quantity": "rate", "values": [1]}]}, "it has no case two today"),
        ({"row": "a-row"}, "not of today's scenarios"),
    ],
)
def test_what_cannot_be_judged_anew_stays(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    keep(result_of([1.0, 2.0], quick=False, document={"load": 2}), MADE, tmp_path, spare_fuller=True)
    row = result_of([1.0], quick=False, document=None if "row" in change else {"load": 2}).row
    (tmp_path / "a-row.json").write_text(json.dumps(kept_json(tmp_path) | change))
    (entry,) = kept_rows([row], tmp_path)
    with pytest.raises(KeptError, match=f"^a-row: {re.escape(message)}$"):
        judge_anew(entry, tmp_path)
    assert not kept_json(tmp_path)["holds"]


def test_a_kept_result_of_another_scenario_is_still_shown(tmp_path: Path) -> None:
    keep(result_of([1.0, 2.0], quick=False, document={"load": 1}), MADE, tmp_path, spare_fuller=True)
    (entry,) = kept_rows([result_of([1.0], quick=False, document={"load": 2}).row], tmp_path)
    assert [list(outcome.values) for outcome in kept_result(entry, of_today=False).outcomes] == [[1.0, 2.0]]


def test_kept_verdicts_are_todays() -> None:
    """Of all that is kept in full and of today's scenarios: `canopy reproduce --kept --judge` changes nothing."""
    entries = [entry for entry in kept_rows(with_assistance(list(ROWS.values())), RESULTS) if entry.kept is not None]
    assert len(entries) > 70
    judged_rows = 0
    for entry in entries:
        assert entry.kept is not None
        assert entry.standing is not None
        if entry.kept.notes or entry.standing.state == "scenario changed":
            with pytest.raises(KeptError, match=r"not of today's scenarios|not all runs are there"):
                kept_result(entry)
            continue
        judged_rows += 1
        kept = json.loads((RESULTS / f"{entry.row.id}.json").read_text())
        judged = summary(kept_result(entry))
        assert {name: kept[name] for name in judged} == judged
    assert judged_rows > 40
