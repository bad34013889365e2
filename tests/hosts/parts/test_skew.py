"""The other clock's gain, from delays that jitter and queues that come and go."""

import random

import pytest

from hosts.parts.skew import MAX_SKEW, ClockSkew


@pytest.mark.parametrize("skew", [0.0, 200e-6, -200e-6, 3e-6])
@pytest.mark.parametrize("seed", range(3))
def test_an_hour(skew: float, seed: int) -> None:
    """Answers every two seconds; the way back takes 5 ms, up to 20 ms more, and minutes of a queue now and then."""
    rng = random.Random(seed)
    clock = ClockSkew()
    begin = 0.0
    for index in range(1800):
        now = 1000 + 2.0 * index
        queue = 0.1 if index % 200 > 150 else 0.0
        clock.add(now, 77.0 + skew * (now - 1000) + 0.005 + rng.expovariate(1 / 0.003) + queue)
        if index == 30:
            begin = clock.gained(now)
        if index > 30:
            assert clock.gained(now) - begin == pytest.approx(skew * (now - 1060), abs=0.006)
            offset = clock.offset(now)
            assert offset is not None
            assert offset == pytest.approx(77.005 + skew * (now - 1000), abs=0.006)


def test_before_anything_is_known() -> None:
    clock = ClockSkew()
    assert clock.offset(5.0) is None
    assert clock.gained(5.0) == 0.0
    clock.add(5.0, 3.0)
    assert clock.gained(100.0) == 0.0
    assert clock.offset(100.0) == 3.0


def test_another_path_goes_on_where_the_first_ended() -> None:
    clock = ClockSkew()
    for now in range(0, 100, 2):
        clock.add(now, 5.0 + 1e-4 * now)
    clock.restart(100.0)
    assert clock.gained(100.0) == pytest.approx(0.01)
    for now in range(100, 200, 2):
        clock.add(now, 9.0 + 1e-4 * now)
    assert clock.gained(200.0) == pytest.approx(0.02, abs=1e-6)


def test_what_no_clock_does_is_the_network_s() -> None:
    """A delay that grows by a millisecond a second."""
    clock = ClockSkew()
    for now in range(0, 100, 2):
        clock.add(now, 1e-3 * now)
    assert clock.gained(100.0) <= 100 * MAX_SKEW + 1e-9
