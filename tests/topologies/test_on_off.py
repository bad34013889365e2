import itertools
import random

import pytest

from topologies.on_off import on_periods


def test_a_constant_flow_is_always_on() -> None:
    assert next(on_periods(None, 0.0, "constant", 2.0, random.Random(1))) == (0.0, float("inf"))


def test_constant_times_on_and_off_alternate() -> None:
    periods = list(itertools.islice(on_periods(0.5, 1.0, "constant", 2.0, random.Random(1)), 3))
    assert periods == [(0.0, 0.5), (1.5, 2.0), (3.0, 3.5)]


def test_exponential_times_have_their_means_and_depend_on_the_seed_only() -> None:
    periods = list(itertools.islice(on_periods(0.2, 0.6, "exponential", 2.0, random.Random(1)), 4000))
    on = [end - start for start, end in periods]
    off = [after - end for (_, end), (after, _) in itertools.pairwise(periods)]
    assert sum(on) / len(on) == pytest.approx(0.2, rel=0.05)
    assert sum(off) / len(off) == pytest.approx(0.6, rel=0.05)
    assert periods[:9] == list(itertools.islice(on_periods(0.2, 0.6, "exponential", 2.0, random.Random(1)), 9))
