import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.harness.statistics import (
    difference_interval,
    jain_index,
    mean_interval,
    paired_ratio_interval,
    ratio_interval,
)

FLOATS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(FLOATS, min_size=2, max_size=20))
def test_the_interval_is_students(values: list[float]) -> None:
    from scipy import stats  # takes longer to import than all else here, and each process of a test run reads this file

    estimate = mean_interval(values)
    error = float(stats.sem(values))
    if error == 0:
        assert estimate.low == estimate.mean == estimate.high
        return
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
    assert estimate.low == pytest.approx(low, abs=1e-6)
    assert estimate.high == pytest.approx(high, abs=1e-6)


def test_one_run_has_no_bounds() -> None:
    estimate = mean_interval([3.0])
    assert (estimate.mean, estimate.low, estimate.high) == (3.0, -math.inf, math.inf)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        estimate = mean_interval([float(value) for value in rng.normal(10, 2, size=5)])
        covered += estimate.low <= 10 <= estimate.high
    assert 0.935 < covered / 2000 < 0.965


def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(2000):
        top, bottom = rng.normal(8, 0.4, size=5), rng.normal(10, 0.3, size=3)
        estimate = ratio_interval([float(value) for value in top], [float(value) for value in bottom])
        covered += estimate.low <= 0.8 <= estimate.high
    assert 0.93 < covered / 2000 < 0.98


@pytest.mark.parametrize("correlation", [-0.99, 0.0, 0.9])
def test_the_interval_of_a_paired_ratio_covers_it_whatever_the_correlation(correlation: float) -> None:
    rng = np.random.default_rng(3)
    spread = np.array([0.4, 0.3])
    covariance = np.outer(spread, spread) * np.array([[1, correlation], [correlation, 1]])
    covered = 0
    for _ in range(2000):
        top, bottom = rng.multivariate_normal([8, 10], covariance, size=5).T.tolist()
        estimate = paired_ratio_interval(top, bottom)
        covered += estimate.low <= 0.8 <= estimate.high
    assert 0.935 < covered / 2000 < 0.965


def test_a_paired_ratio_has_its_limits() -> None:
    assert paired_ratio_interval([4.0], [5.0]).high == math.inf
    exact = paired_ratio_interval([4.0, 8.0], [5.0, 10.0])
    assert exact.low == exact.mean == exact.high == 0.8
    for numerators, denominators, problem in (
        ([1.0], [0.0], "zero"),
        ([], [], "no values"),
        ([1.0], [1.0, 2.0], "runs"),
    ):
        with pytest.raises(ValueError, match=problem):
            paired_ratio_interval(numerators, denominators)


def test_a_ratio_of_runs_that_agree_is_exact() -> None:
    estimate = ratio_interval([4.0, 4.0], [5.0, 5.0])
    assert estimate.low == estimate.mean == estimate.high == 0.8
    assert ratio_interval([4.0], [5.0]).high == math.inf
    with pytest.raises(ValueError, match="zero"):
        ratio_interval([1.0], [0.0])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_jains_index_lies_between_1_over_n_and_1(shares: list[float]) -> None:
    index = jain_index(shares)
    assert index == 0 or 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9


def test_jains_index_of_known_shares() -> None:
    assert jain_index([5, 5, 5]) == pytest.approx(1)
    assert jain_index([1, 0, 0, 0]) == pytest.approx(0.25)
    assert jain_index([1, 3]) == pytest.approx(0.8)
    assert jain_index([0, 0]) == 0


def test_the_interval_of_a_difference_is_welchs() -> None:
    from scipy import stats

    ones, others = [10.1, 9.7, 10.4, 10.0], [8.0, 9.5, 8.2]
    estimate = difference_interval(ones, others)
    test = stats.ttest_ind(ones, others, equal_var=False).confidence_interval(0.95)
    assert estimate.low == pytest.approx(test.low)
    assert estimate.high == pytest.approx(test.high)
    assert difference_interval([1.0], others).low == -math.inf
    with pytest.raises(ValueError, match="no values"):
        difference_interval([], others)
