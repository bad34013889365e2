"""The rows of TFMCC: that a relation fails when it should, and what the networks' senders take for a packet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiments.row import Case, Outcome
from experiments.rows.tfmcc import ROWS
from experiments.rows.tfmcc_base import dumbbell
from experiments.runs import Finished, Run
from topologies.run.run_folder import RunFolder


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
