import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.cubic import BETA, C
from hosts.parts.throughput import (
    LEAST_LOSS,
    cubic_packets_per_rtt,
    growth_without_loss,
    loss_event_rate,
    loss_events_per_rtt,
    mixed_interval,
    mixed_loss_event_rate,
    mixed_packets_per_rtt,
    mixed_throughput,
    mixed_window,
    packets_per_rtt,
    throughput,
    window_since_loss,
)

MATHIS_C = math.sqrt(3 / 2)
"""Eq. (4)'s constant."""


def simple_throughput(p: float, rtt: float, s: float) -> float:
    """Mathis, Semke, Mahdavi and Ott's simpler equation (Eq. (4), Appendix B): bytes per second."""
    return MATHIS_C * s / (rtt * math.sqrt(p))


def simple_loss_event_rate(rate: float, rtt: float, s: float) -> float:
    """The inverse of Eq. (4), at most 1: a little more conservative than Eq. (1)'s."""
    least = MATHIS_C * s
    return (least / (rate * rtt)) ** 2 if rate * rtt > least else 1.0


def test_the_equation_gives_the_papers_300_kbit_s() -> None:
    # Section 3: 10 % loss, a round trip time of 50 ms; packets of 1,000 bytes.
    assert throughput(0.1, 0.05, 1000) * 8 == pytest.approx(300e3, rel=0.1)


def test_small_loss_is_mathis_with_its_constant() -> None:
    assert throughput(1e-8, 0.1, 1460) == pytest.approx(simple_throughput(1e-8, 0.1, 1460), rel=1e-3)
    assert simple_throughput(0.01, 0.1, 1000) == pytest.approx(math.sqrt(1.5) * 1000 / 0.1 / 0.1)


@given(st.floats(1e-10, 1.0), st.floats(1e-4, 60), st.floats(40, 9000))
def test_the_inverse_inverts(p: float, rtt: float, s: float) -> None:
    assert loss_event_rate(throughput(p, rtt, s), rtt, s) == pytest.approx(p, rel=1e-9)


@given(st.floats(1e-9, 1.0), st.floats(1e-9, 1.0))
def test_more_loss_never_means_more_throughput(p: float, q: float) -> None:
    low, high = sorted((p, q))
    assert packets_per_rtt(low) >= packets_per_rtt(high)


@given(st.floats(0, 1e30), st.floats(1e-6, 1e3))
def test_the_inverse_is_a_loss_event_rate_whatever_the_rate(rate: float, rtt: float) -> None:
    assert LEAST_LOSS <= loss_event_rate(rate, rtt, 1000) <= 1
    assert 0 <= simple_loss_event_rate(rate, rtt, 1000) <= 1


@pytest.mark.parametrize("p", [0, -0.1, 1.01, math.nan])
def test_a_loss_rate_outside_its_range_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="loss event rate"):
        packets_per_rtt(p)


def test_the_simple_inverse_is_the_conservative_one() -> None:
    for rate in (1e4, 1e5, 1e6):
        assert simple_loss_event_rate(rate, 0.1, 1000) >= loss_event_rate(rate, 0.1, 1000)


def test_loss_events_per_rtt_peak_as_the_equations_say() -> None:
    grid = [10 ** (-4 + 4 * i / 2000) for i in range(2001)]
    assert max(loss_events_per_rtt(p) for p in grid) == pytest.approx(0.188, abs=0.001)
    assert max(loss_events_per_rtt(p, b=2) for p in grid) == pytest.approx(0.133, abs=0.002)


def test_cubic_is_reno_on_short_paths_and_rfc_9438s_on_long_ones() -> None:
    for p in (1e-4, 1e-3, 0.01, 0.1, 1.0):
        assert cubic_packets_per_rtt(p, 0.01) == pytest.approx(packets_per_rtt(p))
    # RFC 9438, 5.2, Table 1: CUBIC with C = 0.4 at a round trip time of 0.1 s.
    for p, window in ((1e-4, 187), (1e-5, 1054), (1e-6, 5926), (1e-7, 33325)):
        assert cubic_packets_per_rtt(p, 0.1) == pytest.approx(window, rel=0.05)


def test_the_mixture_is_half_way_from_reno_to_cubic() -> None:
    assert mixed_packets_per_rtt(1e-3, 0.01) == pytest.approx(packets_per_rtt(1e-3))
    both = packets_per_rtt(1e-5) + cubic_packets_per_rtt(1e-5, 0.2)
    assert mixed_packets_per_rtt(1e-5, 0.2) == pytest.approx(both / 2)


@given(st.floats(1e-8, 0.9), st.floats(1e-4, 1.0))
def test_the_mixtures_inverse(p: float, rtt: float) -> None:
    assert mixed_loss_event_rate(mixed_throughput(p, rtt, 1500), rtt, 1500) == pytest.approx(p, rel=1e-6)
    assert mixed_loss_event_rate(1e-9, rtt, 1500) == 1.0
    assert mixed_loss_event_rate(1e300, rtt, 1500) == LEAST_LOSS


@given(st.floats(0, 100), st.floats(1e-3, 1.0), st.floats(0, 1e5))
def test_no_tcp_has_less_than_the_window_since_its_loss(elapsed: float, rtt: float, before: float) -> None:
    cubic = C * (elapsed - math.cbrt(before * (1 - BETA) / C)) ** 3 + before
    reno = before / 2 + elapsed / rtt
    window = window_since_loss(elapsed, rtt, before)
    assert window <= max(cubic, reno) * (1 + 1e-9) + 1e-6
    assert window >= -1e-6


def test_losses_every_so_often_leave_a_reno_three_quarters_of_its_largest_window() -> None:
    assert mixed_window(1.0, 0.1) == pytest.approx(15.0)  # of 20 packets; CUBIC is Reno's friend there
    assert mixed_window(10.0, 0.2) == pytest.approx((75 + 400 / 0.3 - 100) / 2)


@given(st.floats(1.0, 1e5), st.floats(1e-4, 1.0))
def test_the_interval_of_a_window_is_the_inverse(window: float, rtt: float) -> None:
    assert mixed_window(mixed_interval(window, rtt), rtt) == pytest.approx(window, rel=1e-6)


@pytest.mark.parametrize("rtt", [0.01, 0.2])
def test_growth_without_loss_is_renos_at_first_and_cubics_later(rtt: float) -> None:
    assert growth_without_loss(0.0, rtt) == 0
    assert growth_without_loss(rtt, rtt) == pytest.approx(1)
    assert growth_without_loss(40.0, rtt) == pytest.approx((40 / rtt + 0.4 * 40**3) / 2)
