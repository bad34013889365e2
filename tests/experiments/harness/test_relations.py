import itertools
import math

import pytest

from experiments.harness.relations import (
    EachBetween,
    Every,
    IntervalsBetween,
    LargestBetween,
    NearReference,
    Only,
    Ordered,
    OverCases,
    QuantitiesRatioBetween,
    RatioBetween,
    SeriesRatioBetween,
)
from experiments.harness.row import Case, Outcome, Relation


def outcome(label: str, *values: float, reference: float | None = None, quantity: str = "goodput") -> Outcome:
    return Outcome(Case(label, {}, references={} if reference is None else {quantity: reference}), quantity, values)


def test_near_reference_shows_the_case_that_is_farthest_off() -> None:
    outcomes = [outcome("a", 9.8, 10.0, reference=10), outcome("b", 5.4, 5.6, reference=5)]
    judgement = NearReference(0.2).judge(outcomes)
    assert judgement.holds
    assert judgement.where == "goodput, b"
    assert judgement.measured.mean == pytest.approx(1.1)
    assert judgement.measured.low < 1.1 < judgement.measured.high
    assert not NearReference(0.09).judge(outcomes).holds


def test_the_mean_decides_and_a_bound_itself_holds() -> None:
    assert EachBetween(least=0.95).judge([outcome("a", 0.9, 1.0)]).holds
    assert not EachBetween(least=0.95).judge([outcome("a", 0.9, 0.99)]).holds
    assert EachBetween(0.5, 1.5).judge([outcome("a", 1.5)]).holds
    assert IntervalsBetween(0.5, 1.5).judge([outcome("a", 0.99, 1.0, 1.01)]).holds
    assert not IntervalsBetween(0.5, 1.5).judge([outcome("a", 0.4, 1.0, 1.6)]).holds, "its interval goes beyond"


def test_one_bad_case_of_many_breaks_the_relation() -> None:
    judgement = EachBetween(most=2).judge([outcome("a", 1), outcome("b", 3), outcome("c", 0)])
    assert (judgement.holds, judgement.where) == (False, "goodput, b")


def test_what_is_no_number_does_not_hold() -> None:
    assert not EachBetween(least=0).judge([outcome("a", math.nan), outcome("b", 1)]).holds


@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_is_no_number_does_not_hide_behind_others(at: int) -> None:
    def outcomes(odd: float) -> list[Outcome]:
        rows = [outcome("a", 9, 9.1), outcome("b", 5, 5.1), outcome("c", 1, 1.1)]
        rows[at] = outcome("odd", odd, odd)
        return rows

    for relation in (EachBetween(0, 10), LargestBetween(0, 10), Ordered()):
        assert not relation.judge(outcomes(math.nan)).holds
    assert not EachBetween(most=10).judge(outcomes(math.inf)).holds
    assert not EachBetween(least=0).judge(outcomes(-math.inf)).holds


def test_ratio_between_compares_each_quantity() -> None:
    outcomes = [
        outcome("of", 9.5, 9.5),
        outcome("to", 10, 10),
        outcome("of", 4.0, 4.0, quantity="losses"),
        outcome("to", 5.0, 5.0, quantity="losses"),
    ]
    judgement = RatioBetween("of", "to", 0.9, 1.1).judge(outcomes)
    assert (judgement.holds, judgement.where) == (False, "losses, of")
    assert judgement.measured.mean == pytest.approx(0.8)
    assert RatioBetween("of", "to", 0.8).judge(outcomes).holds


def test_series_are_compared_place_by_place() -> None:
    def at(x: float, series: str, *values: float) -> Outcome:
        return Outcome(Case(f"{series} {x}", {}, x=x, series=series), "goodput", values)

    outcomes = [at(1, "kernel", 10), at(1, "simulated", 9), at(2, "kernel", 5), at(2, "simulated", 5.1)]
    judgement = SeriesRatioBetween("simulated", "kernel", 0.95, 1.05).judge(outcomes)
    assert (judgement.holds, judgement.where) == (False, "goodput, simulated 1")
    assert judgement.measured.mean == pytest.approx(0.9)
    assert SeriesRatioBetween("simulated", "kernel", 0.85, 1.05).judge(outcomes).holds
    with pytest.raises(ValueError, match="kernel, simulated 2"):
        SeriesRatioBetween("simulated", "kernel", 0.85).judge(outcomes[:2] + outcomes[3:])


def test_averages_over_cases_are_those_of_each_seed() -> None:
    outcomes = [outcome("early", 10, 8), outcome("late", 2, 4), outcome("early", 1, 3, quantity="losses")]
    judgement = OverCases(Only(EachBetween(6.0, 6.0), "goodput")).judge(outcomes)
    assert judgement.holds
    assert (judgement.measured.low, judgement.measured.high) == (6, 6)
    with pytest.raises(ValueError, match="more runs"):
        OverCases(EachBetween(0)).judge([outcome("early", 10, 8), outcome("late", 2)])


def test_one_quantity_over_another() -> None:
    outcomes = [
        outcome("a", 6, 6, quantity="ours"),
        outcome("a", 4, 4, quantity="theirs"),
        outcome("b", 5, 5, quantity="ours"),
    ]
    ratio = QuantitiesRatioBetween("ours", "theirs", 1.0, 1.4)
    judgement = ratio.judge(outcomes[:2])
    assert (judgement.holds, judgement.where) == (False, "ours, a")
    assert judgement.measured.mean == pytest.approx(1.5)
    with pytest.raises(ValueError, match="theirs, b: not measured"):
        ratio.judge(outcomes)


def test_quantities_of_one_run_are_not_independent() -> None:
    """Two that share a link: what one gains the other loses, and their ratio varies more than each of them tells."""
    ours, theirs = (outcome("a", *values, quantity=name) for name, values in (("o", (6, 5, 4)), ("t", (4, 5, 6))))
    found = QuantitiesRatioBetween("o", "t", 0.0).judge([ours, theirs]).measured
    alone = RatioBetween("o", "t", 0.0).judge([outcome("o", 6, 5, 4), outcome("t", 4, 5, 6)]).measured
    assert found.mean == alone.mean == 1
    # Residuals 2, 0, -2 over a mean of 5: a standard error of 0.4 / sqrt(3), with two degrees of freedom.
    assert found.high - 1 == pytest.approx(4.302653 * 0.4 / math.sqrt(3))
    assert found.high > alone.high
    with pytest.raises(ValueError, match="not the same runs"):
        QuantitiesRatioBetween("o", "t", 0.0).judge([ours, outcome("a", 4, 5, quantity="t")])


def test_every_shows_the_relation_that_is_broken() -> None:
    outcomes = [outcome("one", 10), outcome("many", 7)]
    relations = [RatioBetween("many", "one", 0.5), RatioBetween("many", "one", 0.8)]
    judgement = Every(relations).judge(outcomes)
    assert not judgement.holds
    assert judgement.measured.mean == pytest.approx(0.7)


def test_every_shows_the_case_that_is_closest_to_breaking() -> None:
    """Whatever the units are, and wherever among the relations it stands."""
    outcomes = [
        outcome("a", 0.9913, reference=1.0),
        outcome("b", 0.7526, reference=1.0),
        outcome("a", 12.0, quantity="seconds"),
    ]
    relations = [
        Only(NearReference(0.25), "goodput", labels=["a"]),
        Only(EachBetween(most=20), "seconds"),
        Only(NearReference(0.25), "goodput", labels=["b"]),
    ]
    for shuffled in itertools.permutations(relations):
        judgement = Every(shuffled).judge(outcomes)
        assert (judgement.holds, judgement.quantity, judgement.where) == (True, "goodput", "goodput, b")
        assert judgement.measured.mean == pytest.approx(0.7526)
        assert judgement.margin == pytest.approx(0.0026)


def test_every_shows_the_worst_of_what_is_broken() -> None:
    outcomes = [outcome("a", 9), outcome("a", 300, quantity="delay"), outcome("a", 0, quantity="losses")]
    relations = [
        Only(EachBetween(least=10), "goodput"),
        Only(EachBetween(most=200), "delay"),
        Only(EachBetween(most=0), "losses"),
    ]
    judgement = Every(relations).judge(outcomes)
    assert (judgement.holds, judgement.where) == (False, "delay, a")
    assert judgement.margin == pytest.approx(-0.5)
    assert Every([relations[0], relations[2]]).judge(outcomes).where == "goodput, a"


def test_a_margin_is_a_share_of_the_bound() -> None:
    def margin(relation: Relation, *values: float) -> float:
        return relation.judge([outcome("a", *values, reference=100)]).margin

    assert margin(EachBetween(least=50), 55) == pytest.approx(0.1)
    assert margin(EachBetween(50, 80), 76) == pytest.approx(0.05)
    assert margin(EachBetween(least=-10), -8) == pytest.approx(0.2)
    assert margin(NearReference(0.25), 120) == pytest.approx(0.05), "of the reference"
    assert (margin(EachBetween(most=0), 0), margin(EachBetween(most=0), 1)) == (1, -1), "0 is all or nothing"
    assert margin(EachBetween(0, 10), 1) == pytest.approx(0.9)
    assert margin(EachBetween(), 3) == math.inf
    assert margin(EachBetween(), math.nan) == -math.inf


def test_an_orders_margin_is_what_is_beyond_doubt() -> None:
    order = Ordered().judge([outcome("a", 10, 10.1, 9.9), outcome("b", 8, 8.1, 7.9)])
    assert order.margin == pytest.approx(order.measured.low / 2)
    steep = [outcome("a", 90, 100, 110, quantity="slow"), outcome("b", 10, 11, 12, quantity="slow")]
    flat = [outcome("a", 1.00, 1.01, quantity="flat")]
    relations = [Only(Ordered(), "slow"), Only(EachBetween(least=0.5), "flat")]
    assert 0.5 < relations[0].judge(steep).margin < 1
    assert Every(relations).judge([*steep, *flat]).where == "slow, a to b"


def test_an_order_needs_confidence_in_every_step() -> None:
    clear = [outcome("a", 10, 10.1, 9.9), outcome("b", 8, 8.1, 7.9), outcome("c", 5, 5.2, 4.8)]
    judgement = Ordered().judge(clear)
    assert judgement.holds
    assert judgement.where == "goodput, a to b"
    assert judgement.measured.mean == pytest.approx(2)
    assert judgement.measured.low > 0
    assert not Ordered(rises=True).judge(clear).holds
    assert Ordered(rises=True).judge(clear[::-1]).holds
    # The mean falls, but runs differ more than that.
    assert not Ordered().judge([outcome("a", 10, 12, 8), outcome("b", 9, 11, 7)]).holds
    assert not Ordered().judge([outcome("a", 1.0, 1.0), outcome("b", 1.0, 1.0)]).holds


def test_an_order_of_single_runs_is_none() -> None:
    with pytest.raises(ValueError, match="at least two runs"):
        Ordered().judge([outcome("a", 10), outcome("b", 8, 8.1)])
    with pytest.raises(ValueError, match="one case has no order"):
        Ordered().judge([outcome("a", 10, 11)])


def test_only_some_outcomes_count() -> None:
    deep = Outcome(Case("deep", {}, series="multilevel"), "goodput", [1.0])
    outcomes = [outcome("a", 5), outcome("b", 9), outcome("a", 7, quantity="loss"), deep]
    bound = EachBetween(most=6)
    assert Only(bound, quantity="goodput", labels=["a"]).judge(outcomes).holds
    assert not Only(bound, quantity="loss").judge(outcomes).holds
    assert Only(bound, series="multilevel").judge(outcomes).where == "goodput, deep"
    with pytest.raises(ValueError, match="nothing was measured"):
        Only(bound, quantity="delay").judge(outcomes)


def test_too_little_for_a_verdict_is_said() -> None:
    with pytest.raises(ValueError, match="nothing was measured"):
        EachBetween().judge([])
    with pytest.raises(ValueError, match="nothing to compare with"):
        NearReference(0.1).judge([outcome("a", 1)])
    with pytest.raises(ValueError, match="kernel: not measured"):
        RatioBetween("of", "kernel", 0.9).judge([outcome("of", 1)])
