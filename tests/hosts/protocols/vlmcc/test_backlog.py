"""Vegas' difference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.protocols.vlmcc.backlog import vegas_difference


@settings(deadline=None)
@given(st.floats(2, 500), st.floats(0.01, 1), st.floats(0, 1))
def test_the_difference_of_a_full_window_is_what_waits(cwnd: float, base: float, queue: float) -> None:
    rtt = base + queue
    waiting = cwnd / rtt * queue  # Little's law
    assert vegas_difference(cwnd, cwnd, rtt, base) == pytest.approx(waiting, abs=1e-9)


def test_the_difference_of_an_unused_window_is_what_is_unused() -> None:
    assert vegas_difference(20, 5, 0.1, 0.1) == 15
