"""The row of attacks."""

from math import inf
from pathlib import Path

import pytest

from experiments.harness.runs import Finished, Run, scenario_text
from experiments.rows.security.rows import ROWS, _took
from hosts import protocols
from topologies.attacks import FORGERIES, WAYS
from topologies.results.run_folder import RunFolder
from topologies.scenario import parse_scenario

(ATTACKS,) = ROWS


def test_every_protocol_is_attacked_in_each_way_with_all() -> None:
    assert ATTACKS.experiment is not None
    cases = ATTACKS.experiment.cases(False)
    assert len(cases) == len({case.label for case in cases}) == len(WAYS) * (2 + len(FORGERIES))
    attacked = [case for case in cases if "faults" in case.document]
    assert len(attacked) == len(WAYS) * len(FORGERIES)
    for case in attacked[:: len(FORGERIES)]:
        scenario = parse_scenario(scenario_text(case.document))
        assert {session.protocol for session in scenario.sessions} == set(protocols.names())
        assert {fault.session for fault in scenario.faults if fault.kind == "attack"} == {1, 2, 3, 4, 5, 6}
        spoofed = {fault.spoofed for fault in scenario.faults if fault.kind == "attack"}
        assert spoofed == {"P4" not in case.label}


@pytest.mark.parametrize(("ends", "expected"), [((1.5, 2.0), 1.5), ((1.5, None), inf)])
def test_who_is_not_done_takes_longer_than_any_bound(ends: tuple[float | None, ...], expected: float) -> None:
    receivers = [{"host": "r", "complete": end is not None, "completed_at": end} for end in ends]
    summary = {"sessions": [{"protocol": "mtcp", "receivers": receivers}]}
    assert _took(Finished(Run({}, 1), summary, RunFolder(Path())), 0) == expected
