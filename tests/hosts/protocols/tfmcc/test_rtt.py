"""The receiver's round trip time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import decode_rtt, encode_rtt
from hosts.protocols.tfmcc.rtt import RoundTrip


def test_measurements_are_smoothed_by_role() -> None:
    for is_clr, beta in ((True, 0.05), (False, 0.5)):
        trip = RoundTrip(TfmccOptions())
        assert trip.rtt == decode_rtt(encode_rtt(0.5))
        trip.measure(0.1, 10.0, 3.0, is_clr=is_clr)
        assert (trip.rtt, trip.has_measurement) == (0.1, True)
        trip.measure(0.2, 11.0, 4.0, is_clr=is_clr)
        assert trip.rtt == pytest.approx(0.1 + beta * 0.1)


@given(st.floats(-1e5, 1e5), st.floats(0.001, 1.0))
def test_the_way_forth_shows_a_change_whatever_the_clocks_say(skew: float, extra: float) -> None:
    trip = RoundTrip(TfmccOptions())
    trip.measure(0.1, 100.0 + skew, 99.95, is_clr=False)
    for _ in range(300):
        trip.adjust(100.0 + skew + extra, 99.95)
    assert trip.rtt == pytest.approx(0.1 + extra, rel=1e-3)
    trip.measure(0.1 + extra, 200.0 + skew + extra, 199.95, is_clr=False)  # what was inferred is forgotten
    assert trip.rtt == pytest.approx(0.1 + extra / 2, rel=1e-3)


def test_synchronised_clocks_give_the_first_value() -> None:
    trip = RoundTrip(TfmccOptions(clock_error_s=0.03))
    trip.synchronise(10.05, 10.0)
    assert trip.rtt == pytest.approx(2 * (0.05 + 0.03))
    assert not trip.has_measurement
    unsynchronised = RoundTrip(TfmccOptions())
    unsynchronised.synchronise(10.05, 10.0)
    assert unsynchronised.rtt == TfmccOptions().initial_rtt


@pytest.mark.parametrize("delay", [-0.5, -0.031, 2.0, 1e5])
def test_clocks_that_do_not_agree_after_all_change_nothing(delay: float) -> None:
    trip = RoundTrip(TfmccOptions(clock_error_s=0.03))
    trip.synchronise(10.0 + delay, 10.0)
    assert trip.rtt == TfmccOptions().initial_rtt


@pytest.mark.parametrize("drift", [-100e-6, 100e-6])
def test_clocks_that_drift_apart_change_no_round_trip_time(drift: float) -> None:
    """An idle receiver's, whose queue comes and goes; its clock gains so much on the sender's."""
    trip = RoundTrip(TfmccOptions())
    trip.measure(0.064, 5.0 + 0.032, 0.0, is_clr=False)
    for index in range(1, 7001):
        sent_at = index * 0.1
        queue = 0.02 if index % 100 > 80 else 0.0
        trip.adjust(5.0 + (sent_at + 0.032 + queue) * (1 + drift), sent_at)
        assert 0.055 < trip.rtt < 0.095
    assert trip.rtt == pytest.approx(0.076, abs=0.004)
    paper = RoundTrip(TfmccOptions(rules="paper"))
    paper.measure(0.064, 5.0 + 0.032, 0.0, is_clr=False)
    for index in range(1, 7001):
        paper.adjust(5.0 + (index * 0.1 + 0.032) * (1 - 100e-6), index * 0.1)
    assert paper.rtt == pytest.approx(1e-3)


def test_a_data_centre_s_round_trips_are_less_than_a_millisecond() -> None:
    for rules, least in (("today", 50e-6), ("paper", 1e-3)):
        trip = RoundTrip(TfmccOptions(rules=rules))
        trip.measure(80e-6, 10.0, 3.0, is_clr=True)
        assert trip.rtt == pytest.approx(max(80e-6, least))
        for _ in range(500):
            trip.measure(1e-6, 10.0, 3.0, is_clr=True)
        assert trip.rtt == pytest.approx(least)
