"""Delay estimation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.rtt import DelayEstimator


def test_rfc_6298_by_hand() -> None:
    estimator = DelayEstimator(0.0)
    assert estimator.timeout is None
    estimator.add(0.1)
    assert (estimator.mean, estimator.deviation) == (0.1, 0.05)
    assert estimator.timeout == pytest.approx(0.3)
    estimator.add(0.2)
    # RTTVAR = 3/4 * 0.05 + 1/4 * |0.1 - 0.2|; SRTT = 7/8 * 0.1 + 1/8 * 0.2
    assert estimator.deviation == pytest.approx(0.0625)
    assert estimator.mean == pytest.approx(0.1125)
    assert estimator.timeout == pytest.approx(0.1125 + 0.25)


def test_least_margin() -> None:
    estimator = DelayEstimator(0.2)
    for _ in range(100):
        estimator.add(0.05)
    assert estimator.timeout == pytest.approx(0.25)


@given(st.lists(st.floats(0.001, 2.0), min_size=1, max_size=50), st.floats(-1e6, 1e6))
def test_the_origin_does_not_matter(samples: list[float], offset: float) -> None:
    """Relative time delays are round trip times plus a clock offset: all but the mean must be the same (MTCP, 3.2)."""
    plain, shifted = DelayEstimator(0.01), DelayEstimator(0.01)
    for sample in samples:
        plain.add(sample, 0.1)
        shifted.add(sample + offset, 0.1)
    assert shifted.deviation == pytest.approx(plain.deviation, abs=1e-6)
    assert shifted.mean - offset == pytest.approx(plain.mean, abs=1e-6)
    assert shifted.timeout is not None
    assert plain.timeout is not None
    assert shifted.timeout - offset == pytest.approx(plain.timeout, abs=1e-5)
