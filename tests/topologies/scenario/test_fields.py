"""What is said of a field that is none where it stands."""

import pytest

from tests.topologies.scenario.example import GOOD
from topologies.scenario import ScenarioError, parse_scenario

CASES = {
    "mistyped": ("on: 500 ms", "onn: 500 ms", "traffic[1].onn: unknown field; did you mean `on`?"),
    "another place's": (
        "{kind: controller-restart, at: 4 s}",
        "{kind: controller-restart, at: 4 s, host: c}",
        "faults[3].host: unknown field; there are at, kind, outage",
    ),
    "another kind's": (
        "{kind: tcp, source: a, destination: b,",
        "{kind: tcp, source: a, destination: b, distribution: exponential,",
        "traffic[0].distribution: unknown field; did you mean `destination`?",
    ),
    "like none": (
        "name: two-leaves",
        "name: two-leaves\nxyz: 1",
        "xyz: unknown field; there are description, duration, faults, links, name, nodes, seed, sessions, ",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_unknown_field_is_answered_with_those_of_its_place(case: str) -> None:
    old, new, expected = CASES[case]
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(GOOD.replace(old, new, 1))
    assert expected in str(caught.value)


def test_a_session_has_no_stop_and_is_not_offered_one() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(GOOD.replace("size: 1 MB", "size: 1 MB\n    stop: 3 s"))
    assert "sessions[0].stop: unknown field; there are announced, assist, " in str(caught.value)
    assert "did you mean" not in str(caught.value)
