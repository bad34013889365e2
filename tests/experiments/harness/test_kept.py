import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.kept import KeptError, KeptRow, Standing, kept_rows, parse_kept, read_kept, standing
from experiments.harness.origin import Made
from experiments.harness.relations import EachBetween
from experiments.harness.results_folder import RESULTS
from experiments.harness.row import Case, Experiment, Figure, Row, document_digest
from experiments.harness.runs import World

FIGURE = Figure("load", {"rate": "Mbit/s"})


def make_row(full: Sequence[Case], quick: Sequence[Case] = ()) -> Row:
    experiment = Experiment(lambda is_quick: quick if is_quick else full, lambda run: {}, EachBetween(least=2), FIGURE)
    return Row("a-row", "a-paper", "sim", "title", "value", "counts", "Mbit/s", experiment)


def kept_text(
    documents: Mapping[str, Any], *, world: World = "sim", quick: bool = False, notes: Sequence[str] = ()
) -> str:
    """A result with two quantities a case; a case without document is one of an older file."""
    cases = [
        {"case": label, "world": world, "quantity": quantity, "values": [1.0]}
        | ({} if document is None else {"scenario": document_digest(document)})
        for label, document in documents.items()
        for quantity in ("rate", "loss")
    ]
    return json.dumps({"row": "a-row", "quick": quick, "runs": 5, "holds": True, "notes": notes, "cases": cases})


def standing_of(row: Row, text: str) -> Standing:
    return standing(parse_kept(text, "a-row.json"), row)


ROW = make_row([Case("one", {"load": 1}), Case("two", {"load": 2})], [Case("one", {"load": 0})])


def test_a_result_of_todays_documents_is_current() -> None:
    assert standing_of(ROW, kept_text({"one": {"load": 1}, "two": {"load": 2}})) == Standing("current")


def test_a_quick_result_is_held_against_the_quick_documents() -> None:
    assert standing_of(ROW, kept_text({"one": {"load": 0}}, quick=True)) == Standing("current")
    assert standing_of(ROW, kept_text({"one": {"load": 1}}, quick=True)) == Standing("scenario changed", ["one"])


def test_another_document_is_told_with_its_case() -> None:
    assert standing_of(ROW, kept_text({"one": {"load": 1}, "two": {"load": 3}})) == Standing(
        "scenario changed", ["two"]
    )


def test_another_world_is_another_scenario() -> None:
    found = standing_of(ROW, kept_text({"one": {"load": 1}, "two": {"load": 2}}, world="emu"))
    assert found.state == "scenario changed"


def test_cases_that_came_and_went_are_changes() -> None:
    assert standing_of(ROW, kept_text({"one": {"load": 1}})) == Standing("scenario changed", ["two"])
    more = kept_text({"one": {"load": 1}, "two": {"load": 2}, "three": {"load": 3}})
    assert standing_of(ROW, more) == Standing("scenario changed", ["three"])


def test_a_case_whose_runs_failed_is_no_change() -> None:
    assert standing_of(ROW, kept_text({"one": {"load": 1}}, notes=["two, seed 1: unlucky"])) == Standing("current")


def test_what_an_older_file_was_made_of_is_unknown() -> None:
    """Even when the cases have other names: there is no saying what was run."""
    assert standing_of(ROW, kept_text({"one": None, "two": None})) == Standing("unknown")
    assert standing_of(ROW, kept_text({"other": None})) == Standing("unknown")
    assert standing_of(ROW, kept_text({"one": {"load": 1}, "two": None})) == Standing("unknown")
    assert standing_of(ROW, kept_text({"one": {"load": 7}, "two": None})) == Standing("scenario changed", ["one"])


def test_an_older_file_has_no_origin() -> None:
    kept = parse_kept(kept_text({"one": None}), "a-row.json")
    assert kept.made == Made()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"quick": false, "runs": 5, "holds": true, "notes": [], "cases": [3]}']
)
def test_what_is_no_result_is_named_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a-row.json"
    path.write_text(text)
    with pytest.raises(KeptError, match=rf"^{re.escape(str(path))}: not a row's result$"):
        read_kept(path)
    (entry,) = kept_rows([ROW], tmp_path)
    assert entry.kept is None
    assert "not a row's result" in entry.problem


def test_what_is_kept_of_rows_as_json(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {
        "kept": False,
        "runs": None,
        "quick": None,
        "holds": None,
        "scenario": None,
        "changed": [],
    }
    (entry,) = kept_rows([ROW], tmp_path)
    assert entry == KeptRow(ROW)
    assert entry.as_json() == {"row": "a-row", "made": Made().model_dump(), **nothing}
    (tmp_path / "a-row.json").write_text(kept_text({"one": {"load": 5}, "two": {"load": 2}}))
    (entry,) = kept_rows([ROW], tmp_path)
    changed = {
        "kept": True,
        "runs": 5,
        "quick": False,
        "holds": True,
        "scenario": "scenario changed",
        "changed": ["one"],
    }
    assert entry.as_json() == {"row": "a-row", "made": Made().model_dump(), **changed}


def test_every_result_in_the_folder_can_be_read() -> None:
    paths = sorted(RESULTS.glob("*.json"))
    assert paths
    for path in paths:
        kept = read_kept(path)
        assert kept is not None
        assert kept.cases
