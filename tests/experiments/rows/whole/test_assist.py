"""The rows about help of switches that no paper has."""

from random import Random

import numpy as np
import pytest

from experiments.harness.row import Outcome
from experiments.rows.rla.assist import over_switches
from experiments.rows.rla.base import CASES, DROPTAIL, tree
from experiments.rows.tfmcc.assist import assisted_round
from experiments.rows.tfmcc.crowd import ROWS as CROWD_ROWS
from experiments.rows.tfmcc.crowd import crowd as tfmcc_crowd
from experiments.rows.vlmcc.assist import crowd


def test_who_reports_first_silences_who_is_not_lower() -> None:
    """One switch, half a round trip before the sender; the second report is stopped there, the third is lower."""
    delays, rates = np.array([0.1, 0.2, 0.3]), np.array([0.8, 0.8, 0.7])
    heard = assisted_round(delays, rates)
    assert [at for at, _ in heard] == pytest.approx([0.6, 0.8])
    assert [rate for _, rate in heard] == [0.8, 0.7]


def test_an_echo_cancels_timers_and_switches_learn_of_it() -> None:
    delays, rates = np.array([0.1, 1.11, 1.12]), np.array([0.8, 0.9, 0.7])
    assert [rate for _, rate in assisted_round(delays, rates)] == [0.8, 0.7]


def test_the_least_rate_always_arrives() -> None:
    chooser = np.random.default_rng(1)
    for count in (1, 15, 16, 300):
        rates = 0.5 + chooser.random(count) / 2
        heard = assisted_round(chooser.random(count), rates)
        assert min(rate for _, rate in heard) == rates.min()
        assert [at for at, _ in heard] == sorted(at for at, _ in heard)


@pytest.mark.parametrize("assist", ["none", "switch"])
def test_no_switch_of_the_tree_has_more_than_sixteen_ports(assist: str) -> None:
    name = Random(1).choice(sorted(CASES))
    document = over_switches(tree(CASES[name], DROPTAIL, name="x", seconds=200), assist)
    ends = [end for link in document["links"] for end in link["between"]]
    assert max(ends.count(node) for node in document["nodes"] if document["nodes"][node]["kind"] == "p4") <= 16
    assert [session["assist"] for session in document["sessions"]] == [assist]


@pytest.mark.parametrize("count", [10, 1000])
@pytest.mark.parametrize("protocol", ["tfmcc", "vlmcc"])
def test_no_switch_above_the_followers_has_more_than_sixteen_ports(protocol: str, count: int) -> None:
    document = crowd(count, "switch", {}) if protocol == "vlmcc" else tfmcc_crowd(count, "switch")
    ends = [end for link in document["links"] for end in link["between"]]
    switches = [name for name, node in document["nodes"].items() if node["kind"] == "p4"]
    assert max(ends.count(name) for name in switches) <= 16
    assert len(document["sessions"][0]["receivers"]) == count + 1
    hosts = [name for name, node in document["nodes"].items() if node["kind"] == "host"]
    assert all(ends.count(name) == 1 for name in hosts)


def test_the_crowd_is_judged_by_each_number_of_receivers() -> None:
    experiment = CROWD_ROWS[0].experiment
    assert experiment is not None
    cases = experiment.cases(False)

    def judged(reports: float, worse: str = "") -> bool:
        """`worse`: the case that is further from the least rate with assistance than without."""
        found = []
        for case in cases:
            helped = case.series == "with assistance"
            rest = 30.0 if case.label == worse else 10.0 if helped else 20.0
            found += [Outcome(case, "reports", (reports if helped else 50.0,) * 2)]
            found += [Outcome(case, quantity, (rest,) * 2) for quantity in ("excess", "reaction")]
        return experiment.relation.judge(found).holds

    assert judged(20.0)
    assert not judged(21.0)
    assert not judged(20.0, "1000 with assistance")
