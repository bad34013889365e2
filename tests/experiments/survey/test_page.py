import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.harness.origin import Made
from experiments.survey import pictures
from experiments.survey.distribution import Change, Tcp
from experiments.survey.outcome import Outcome, judge
from experiments.survey.page import FILE_NAME, WORST, command, faults, worst, write_page
from experiments.survey.survey import Plan, Surveyed
from experiments.survey.table import make_table
from experiments.survey.verdict import verdicts
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_outcome import run

REST = {"queue_median_s": 0.01, "queue_p99_s": 0.02, "dropped": 0.01, "variation": 0.2, "feedback": 0.5}


def outcome(number: int, goodput: float) -> Outcome:
    return judge(small(number=number), "tfmcc", run(goodput, **REST), [run(1e6)])


def test_the_worst_cells_come_first() -> None:
    outcomes = [outcome(number, 1e5 * number) for number in range(12)]
    found = worst(outcomes, "tfmcc")
    assert [one.cell.number for one in found] == list(range(9)), "0.9 and more is enough"
    many = [outcome(number, 1e3 * number) for number in range(20)]
    assert [one.cell.number for one in worst(many, "tfmcc")] == list(range(WORST))
    assert worst(outcomes, "rla") == []


def test_a_command_repeats_a_cell() -> None:
    assert command(outcome(7, 1e5), Path("runs/a b")) == "canopy simulate 'runs/a b/cells/0007-tfmcc.yaml'"


def test_faults_are_told() -> None:
    cell = small(tcps=(Tcp("bbr", 0.0, 0.0),), change=Change("rate", 1e6))
    beside = judge(cell, "tfmcc", run(5e4, tcps_bps=[1e6], stall_s=9.0), [run(1e6)])
    assert (
        faults(beside) == "0.05 times the TCPs beside it, no recovery in this run, r2 stands still for 9 s, collapsed"
    )
    assert faults(outcome(0, 5e5)) == "50% of TCP's"
    assert faults(outcome(0, 9e5)) == ""


def written(folder: Path, plan: Plan, outcomes: list[Outcome], failures: Sequence[str] = ()) -> str:
    surveyed = Surveyed(plan, outcomes, list(failures))
    write_page(surveyed, verdicts(surveyed, Made(canopy="1")), make_table(surveyed), folder)
    return (folder / FILE_NAME).read_text()


def test_the_page_needs_nothing_but_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its three pictures; two of them take a second each, and are drawn in test_pictures.py."""
    for name in ("distributions", "scatter"):
        monkeypatch.setattr(pictures, name, lambda table, protocols: "<svg/>")
    outcomes = [outcome(0, 5e4), outcome(1, 1e6), Outcome(small(number=2), "tfmcc", "failed", "<why>")]
    page = written(tmp_path, Plan(["tfmcc", "rla"], 3, 1), outcomes, ["cell 2, tfmcc: <why>"])
    assert "one for development" in page
    assert f"canopy simulate {tmp_path}/cells/0000-tfmcc.yaml" in page
    assert "cells/0001" not in page
    assert "&lt;why&gt;" in page
    assert page.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)


def test_a_survey_of_nothing_has_a_page(tmp_path: Path) -> None:
    page = written(tmp_path, Plan(["tfmcc"], 1, 1000), [Outcome(small(), "tfmcc", "left out")])
    assert "one for reporting" in page
    assert "None: all that is asked for" in page
