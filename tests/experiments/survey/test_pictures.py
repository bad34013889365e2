import re
from xml.etree import ElementTree

import pytest

from experiments.survey.outcome import Outcome
from experiments.survey.pictures import QUANTITIES, SCATTERED, course, distributions, scatter
from experiments.survey.survey import Plan, Surveyed
from experiments.survey.table import make_table
from tests.experiments.survey.cells import small
from tests.experiments.survey.test_page import outcome

TABLE = make_table(Surveyed(Plan(["tfmcc"], 4, 1), [outcome(number, 2e5 * (1 + number)) for number in range(4)]))


def texts(svg: str) -> set[str]:
    return {
        "".join(element.itertext()) for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")
    }


@pytest.fixture(scope="module")
def scattered() -> str:
    return scatter(TABLE, ["tfmcc"])


def test_each_quantity_and_dimension_has_its_axes(scattered: str) -> None:
    assert {label for label, _ in QUANTITIES.values()} | {"tfmcc"} <= texts(distributions(TABLE, ["tfmcc"]))
    assert {*SCATTERED.values(), "tfmcc", "droptail"} <= texts(scattered)


def test_one_cell_is_seen() -> None:
    assert not re.search(r' d="M\d+ \d+"', distributions(TABLE.head(1), ["tfmcc"]))


def test_pictures_are_the_same_for_the_same_table(scattered: str) -> None:
    assert scatter(TABLE, ["tfmcc"]) == scattered


def test_a_course_has_the_session_and_the_tcp() -> None:
    assert {"s", "Mbit/s"} <= texts(course(outcome(0, 5e5)))
    with pytest.raises(ValueError, match="no results"):
        course(Outcome(small(), "tfmcc", "left out"))
