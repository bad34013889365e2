"""The rows of TFMCC: that a relation fails when it should, and what the networks' senders take for a packet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.row import Case, Outcome
from experiments.harness.runs import Finished, Run
from experiments.rows.tfmcc.base import dumbbell
from experiments.rows.tfmcc.paper import ROWS
from experiments.rows.tfmcc.scaling import COUNTS, EXPERIMENTS, INTERVALS, RTT_S
from topologies.results.run_folder import RunFolder


def outcomes(number: int, swapped: Mapping[str, str] | None = None) -> list[Outcome]:
    """A formula row's, of 5 seeds; `swapped`: case -> the case that is measured in its place."""
    experiment = next(row.experiment for row in ROWS if row.id == f"tfmcc-fig{number}")
    assert experiment is not None
    cases = {case.label: case for case in experiment.cases(True)}
    found: list[Outcome] = []
    for label, case in cases.items():
        measured: Case = cases[(swapped or {}).get(label, label)]
        runs = [
            experiment.measure(Finished(Run(measured.document, seed, "formula"), {}, RunFolder(Path())))
            for seed in range(1, 6)
        ]
        found += [Outcome(case, quantity, tuple(run[quantity] for run in runs)) for quantity in runs[0]]
    return found


def holds(number: int, found: list[Outcome]) -> bool:
    experiment = next(row.experiment for row in ROWS if row.id == f"tfmcc-fig{number}")
    assert experiment is not None
    return experiment.relation.judge(found).holds


@pytest.mark.parametrize("number", [1, 2, 17])
def test_formulas_and_samples_agree(number: int) -> None:
    assert holds(number, outcomes(number))


@pytest.mark.parametrize(
    ("number", "swapped"), [(2, {"offset": "plain"}), (2, {"plain": "offset"}), (17, {"b = 2": "b = 1"})]
)
def test_a_wrong_method_breaks_the_relation(number: int, swapped: dict[str, str]) -> None:
    assert not holds(number, outcomes(number, swapped))


def most_us(scenario: Mapping[str, Any], host: str) -> float:
    return float(scenario["nodes"][host]["sending"]["most"].split()[0])


def test_senders_take_twice_a_packets_time_only_where_they_share() -> None:
    crowd = dumbbell("crowd", 10, 8e6, [0.1, 0.2, 0.3])
    assert {most_us(crowd, host) for host in ("s", "a0", "a1", "a2")} == {2000.0}
    growing = dumbbell("growing", 100, 8e6, [50.0])
    assert (most_us(growing, "s"), most_us(growing, "a0")) == (1000.0, 2000.0)
    alone = dumbbell("alone", 100, 8e6, [0.1])
    assert (most_us(alone, "s"), most_us(alone, "a0")) == (1000.0, 1000.0)


def test_fig_13_asks_for_an_order_of_the_first_and_the_last_change_of_each_number_of_receivers() -> None:
    experiment = next(row.experiment for row in ROWS if row.id == "tfmcc-fig13")
    assert experiment is not None
    cases = experiment.cases(False)
    least = {case.series: case.x for case in reversed(cases)}

    def judged(falling: set[str]) -> bool:
        """Delays that are the same but for the first change of these series."""
        spread = (0.0, 0.1, 0.2)
        return experiment.relation.judge(
            [
                Outcome(
                    case,
                    "delay",
                    tuple(noise + 5 * (case.x == least[case.series] and case.series in falling) for noise in spread),
                )
                for case in cases
            ]
        ).holds

    assert set(least) == {"40 receivers", "200 receivers", "1000 receivers"}
    assert judged(set(least))
    assert not judged(set(least) - {"1000 receivers"})
    assert not judged(set(least) - {"40 receivers"})


def scaling(order: Mapping[int, int], *, quick: bool = False) -> list[Outcome]:
    """Fig. 7 as it should be, but that of 100 receivers the simulated rates with m intervals are `order[m]`'s."""
    found = []
    for case in EXPERIMENTS[7].cases(quick):
        if "distribution" in case.document:
            found.append(Outcome(case, "degradation", (30.0, 31.0, 29.0)))
            continue
        m = next(m for m in INTERVALS if f"m = {m}," in case.label)
        like = order.get(m, m) if case.world == "sim" and case.x == 100 else m
        falls = COUNTS.index(int(case.x)) * (0.22 - 0.04 * INTERVALS.index(like))
        found.append(Outcome(case, "rate", tuple(300 * (1 - falls) + noise for noise in (0.0, 1.0, -1.0))))
    return found


def test_everybody_in_fig_7_has_its_round_trip_time_from_the_beginning() -> None:
    cases = [case for case in EXPERIMENTS[7].cases(False) if case.world == "sim"]
    assert {case.document["sessions"][0]["parameters"]["initial_rtt_s"] for case in cases} == {RTT_S}


@pytest.mark.parametrize("quick", [False, True])
def test_fig_7_wants_the_simulated_rates_to_fall_with_receivers_and_to_rise_with_intervals(quick: bool) -> None:
    relation = EXPERIMENTS[7].relation
    assert relation.judge(scaling({}, quick=quick)).holds
    assert not relation.judge(scaling({8: 16, 16: 8}, quick=quick)).holds
    assert not relation.judge(scaling({8: 16}, quick=quick)).holds


def test_fig_7_wants_ten_thousand_receivers_to_have_less_than_a_thousand() -> None:
    found = scaling({})
    less = next(o for o in found if o.case.label == "simulated, m = 8, 1000 receivers")
    most = next(o for o in found if o.case.label == "simulated, m = 8, 10000 receivers")
    found[found.index(most)] = Outcome(most.case, "rate", less.values)
    assert not EXPERIMENTS[7].relation.judge(found).holds
