import io
from pathlib import Path

from rich.console import Console

from experiments.harness.origin import Made
from experiments.survey.outcome import Outcome
from experiments.survey.printing import print_verdicts
from experiments.survey.survey import Plan, Surveyed
from experiments.survey.verdict import verdicts
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_page import outcome


def test_verdicts_are_told_with_the_worst_cell() -> None:
    outcomes = [outcome(0, 5e5), outcome(1, 1e6), Outcome(small(number=2), "tfmcc", "left out")]
    surveyed = Surveyed(Plan(["tfmcc"], 3, 1), outcomes, reused=2)
    text = io.StringIO()
    print_verdicts(Console(file=text, width=160), surveyed, verdicts(surveyed, Made()), Path("out"))
    told = text.getvalue()
    assert "1 of 2" in told
    assert "beside Reno, CUBIC: 0.5 to 2" in told
    assert "tfmcc's worst: 50% of TCP's: canopy simulate out/cells/0000-tfmcc.yaml" in told
    assert "1 cells exceed the bound" in told
    assert "2 runs were there already" in told
    assert "seed 1 is one for development" in told
