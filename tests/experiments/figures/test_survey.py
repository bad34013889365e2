from experiments.figures.survey import goals_lines, survey_lines
from experiments.harness.origin import Made
from experiments.survey.outcome import Outcome
from experiments.survey.survey import Plan, Surveyed
from experiments.survey.verdict import verdicts
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_page import outcome


def test_what_a_survey_prints_becomes_a_table() -> None:
    outcomes = [outcome(0, 5e5), outcome(1, 9e5), Outcome(small(number=2), "tfmcc", "failed", "why")]
    surveyed = Surveyed(Plan(["tfmcc", "rla"], 3, 1, is_full=True), outcomes)
    head, tfmcc, rla = survey_lines(verdicts(surveyed, Made()).model_dump_json())
    assert head[0] == "protocol (seed 1, for development; 3 cells, full)"
    assert tfmcc == [
        *("tfmcc", "2, 1 failed", "0", "1 of 2", "70%, 50%", "-", "-", "-", "2 of 2", "2 of 2", "20 ms", "**no**")
    ]
    assert rla == ["rla", "0", "0", "-", "-, -", "-", "-", "-", "-", "-", "-", "**no**"]


def test_the_networks_of_goals_are_a_table_of_their_own() -> None:
    surveyed = Surveyed(Plan(["tfmcc"], 2, 1), [outcome(0, 5e5), outcome(1, 9e5)])
    head, tfmcc = goals_lines(verdicts(surveyed, Made()).model_dump_json())
    assert head[0] == "protocol (seed 1, for development; 2 cells)"
    assert tfmcc == ["tfmcc", "1 of 2", "50%", "-", "-, -", "-"]


def test_a_survey_of_one_kind_says_so() -> None:
    surveyed = Surveyed(Plan(["tfmcc"], 2, 1000, only="lossless"), [outcome(0, 9e5)])
    assert survey_lines(verdicts(surveyed, Made()).model_dump_json())[0][0] == (
        "protocol (seed 1000, for reporting; 2 cells, lossless)"
    )
