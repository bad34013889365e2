"""The least delay of the last while."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.base_delay import PARTS, BaseDelay


def test_a_longer_path_is_believed_after_the_window() -> None:
    base = BaseDelay(10.0)
    for step in range(100):
        base.add(0.030, step / 10)
    for step in range(100, 300):
        base.add(0.090, step / 10)
        if step < 198:
            assert base.least == 0.030
        elif step > 200:
            assert base.least == 0.090


def test_a_shorter_one_at_once() -> None:
    base = BaseDelay(10.0)
    base.add(0.09, 0.0)
    base.add(0.03, 0.1)
    assert base.least == 0.03


def test_the_paper_s_least_is_of_all_time() -> None:
    base = BaseDelay(inf)
    assert base.least == inf
    base.add(-5.0, 0.0)
    base.add(2.0, 1e6)
    assert base.least == -5.0


@given(st.lists(st.tuples(st.floats(0.0, 0.5), st.floats(-1.0, 1.0)), min_size=1, max_size=300))
def test_against_all_that_was_measured(steps: list[tuple[float, float]]) -> None:
    """Never less than the window's own least, never more than that of its younger nine tenths; bounded memory."""
    base, now, seen = BaseDelay(1.0), 0.0, []
    for wait, delay in steps:
        now += wait
        seen.append((now, delay))
        base.add(delay, now)
        assert base.least >= min(value for at, value in seen if at >= now - 1.0)
        assert base.least <= min(value for at, value in seen if at >= now - 1.0 + 1 / PARTS)
        assert len(base._parts) <= PARTS + 2
