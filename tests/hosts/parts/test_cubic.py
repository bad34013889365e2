"""CUBIC's curve."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.cubic import BETA, RENO_GROWTH, C, Cubic


def grown(cubic: Cubic, cwnd: float, rtt_s: float, seconds: float, start: float = 0.0) -> float:
    """After so long with every packet acknowledged."""
    at = start
    while at < start + seconds:
        packets = int(cwnd)
        for _ in range(packets):
            cwnd = cubic.acknowledged(cwnd, 1, rtt_s, at)
            at += rtt_s / packets
    return cwnd


def test_the_window_is_back_at_the_plateau_after_k() -> None:
    cubic = Cubic()
    cwnd = cubic.lost(500.0)
    assert cwnd == 500 * BETA
    k = (500 * (1 - BETA) / C) ** (1 / 3)
    cwnd = grown(cubic, cwnd, 0.1, k)
    assert cwnd == pytest.approx(500, rel=0.02)
    beyond = grown(cubic, cwnd, 0.1, k, start=k)
    assert beyond == pytest.approx(500 + C * k**3, rel=0.05)  # the curve is symmetric about its plateau


def test_beside_reno_on_short_paths() -> None:
    """Where CUBIC's curve is slower than Reno would be, the window is Reno's: alpha a round trip, then one."""
    cubic = Cubic()
    cwnd = cubic.lost(20.0)
    after = grown(cubic, cwnd, 0.01, 0.1)
    assert after == pytest.approx(cwnd + 10 * RENO_GROWTH, rel=0.1)


def test_growth_a_round_trip_is_bounded() -> None:
    cubic = Cubic()
    cwnd = cubic.lost(10.0)
    cwnd = cubic.acknowledged(cwnd, 1, 0.1, 0.0)
    assert cubic.acknowledged(cwnd, 1, 0.1, 1e4) <= cwnd + 0.5 + 1e-9


def test_two_losses_below_the_plateau_converge_faster() -> None:
    plain, twice = Cubic(), Cubic()
    plain.lost(70.0)
    twice.lost(100.0)
    twice.lost(70.0)
    assert grown(twice, 49.0, 0.1, 5.0) < grown(plain, 49.0, 0.1, 5.0)


def test_a_window_that_was_held_grows_from_a_plateau() -> None:
    cubic = Cubic()
    cubic.lost(300.0)
    cubic.hold()
    assert grown(cubic, 100.0, 0.1, 0.5) == pytest.approx(100 + 5, abs=1.5)


@given(st.floats(2, 1e4), st.lists(st.tuples(st.integers(1, 16), st.floats(0, 2)), max_size=50))
def test_it_never_shrinks(cwnd: float, steps: list[tuple[int, float]]) -> None:
    cubic, now = Cubic(), 0.0
    for packets, wait in steps:
        now += wait
        after = cubic.acknowledged(cwnd, packets, 0.05, now)
        assert cwnd <= after <= cwnd + max(packets / 2, 2 * packets / cwnd + 51)
        cwnd = after


def test_where_no_more_than_renos_growth_is_wanted() -> None:
    """A window that is beyond what Reno would have stays; one that is not grows as Reno's."""
    cubic = Cubic()
    cwnd = cubic.lost(500.0)
    assert cubic.acknowledged_as_reno(cwnd, 350, 0.0) == pytest.approx(cwnd + RENO_GROWTH)
    cwnd = grown(cubic, cwnd, 0.1, 5.0)
    assert cwnd > 450
    assert cubic.acknowledged_as_reno(cwnd, 350, 5.0) == cwnd
