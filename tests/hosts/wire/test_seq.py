"""Sequence number extension across the wrap."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.seq import HALF, MASK, extend


@given(near=st.integers(0, 2**40), distance=st.integers(-HALF, HALF - 1))
def test_what_is_near_comes_back_as_it_was(near: int, distance: int) -> None:
    assert extend((near + distance) & MASK, near) == near + distance


def test_around_the_wrap() -> None:
    assert extend(0, MASK) == MASK + 1
    assert extend(MASK, MASK + 1) == MASK
    assert extend(5, 0) == 5
    assert extend(MASK, 0) == -1  # before the start
