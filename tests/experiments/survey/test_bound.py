import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.survey.bound import LEAST_RTTS, LEAST_S, MOST_DELIVERIES, PACKET_BITS, bounded

RATES = st.floats(1e6, 1e9)
RTTS = st.floats(1e-3, 1.6)
RECEIVERS = st.integers(1, 64)


def deliveries(receivers: int, rate_bps: float, duration_s: float) -> float:
    """Packets that so many receivers get of a full link."""
    return receivers * rate_bps * duration_s / PACKET_BITS


@given(RECEIVERS, RATES, RTTS)
def test_what_is_not_beyond_the_bound_keeps_it(receivers: int, rate: float, rtt: float) -> None:
    extent = bounded(receivers, rate, rtt)
    assert 1 <= extent.receivers <= receivers
    assert extent.duration_s >= max(LEAST_S, LEAST_RTTS * rtt)
    many = deliveries(extent.receivers, rate, extent.duration_s)
    assert (many > MOST_DELIVERIES * (1 + 1e-9)) == extent.is_beyond


@given(RECEIVERS, RATES, RTTS)
def test_receivers_go_before_time_does(receivers: int, rate: float, rtt: float) -> None:
    extent = bounded(receivers, rate, rtt)
    if extent.duration_s < max(60, 300 * rtt):
        assert extent.receivers == 1
    elif extent.receivers < receivers:
        assert deliveries(extent.receivers + 1, rate, extent.duration_s) > MOST_DELIVERIES


@pytest.mark.parametrize(
    ("rate", "rtt", "expected"),
    [
        (1e6, 0.01, (64, 60.0, False)),
        (1e8, 0.01, (1, 60.0, False)),
        (2e8, 0.01, (1, MOST_DELIVERIES * PACKET_BITS / 2e8, False)),
        (1e9, 0.01, (1, 20.0, True)),
        (1e9, 0.4, (1, 40.0, True)),
    ],
)
def test_some_networks(rate: float, rtt: float, expected: tuple[int, float, bool]) -> None:
    extent = bounded(64, rate, rtt)
    assert (extent.receivers, extent.duration_s, extent.is_beyond) == expected
