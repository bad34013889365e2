import math

import pytest

from experiments.harness.printing import format_estimate
from experiments.harness.statistics import Estimate


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.98765, 0.9, 1.05), "0.9877 [0.9, 1.05]"),
        (Estimate(19558.4, 19540.0, 19576.8), "19,558 [19,540, 19,577]"),
        (Estimate(2.0, -math.inf, math.inf), "2"),
    ],
)
def test_an_estimate_is_told_with_its_interval_if_it_has_one(estimate: Estimate, text: str) -> None:
    assert format_estimate(estimate) == text
