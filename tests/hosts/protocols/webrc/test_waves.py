"""The fluid model against the paper's equations and RFC 3738's words."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.protocols.webrc.waves import Waves, active_slots, gamma, joined_rate

SESSIONS = st.builds(
    Waves,
    st.floats(4, 3000),
    base_rate=st.just(1.0),
    p=st.sampled_from([0.5, 0.75, 0.9]),
    slot_s=st.sampled_from([2.0, 5.0, 10.0, 20.0]),
    quiescence_s=st.sampled_from([0.0, 60.0, 300.0]),
)


def test_the_number_of_slots_is_eq_3() -> None:
    # 3.2 Mbps in packets of 1,024 bytes: 1 + 4/3 * 1/3 * 390.6 = 174.6; its logarithm to the base 4/3 is 17.95.
    assert active_slots(390.625, 1.0, 0.75) == 17
    # With T = N + Q (Table 1), Q = 300 / 10.
    assert Waves(390.625).t == 47


@given(st.floats(4, 1e6), st.floats(0.3, 0.95))
def test_eq_3_is_the_least_number_that_reaches_the_session_rate(rate: float, p: float) -> None:
    n = active_slots(rate, 1.0, p)
    # At a slot's end all rates are P of what they were at its beginning.
    assert p * joined_rate(n, 1.0, p) >= rate * (1 - 1e-9)
    assert p * joined_rate(n - 1, 1.0, p) <= rate * (1 + 1e-9)


def test_eq_4_approaches_1_over_p() -> None:
    assert gamma(0, 0.75) == pytest.approx((16 / 9 - 1) / (4 / 3 - 1))
    assert gamma(40, 0.75) == pytest.approx(4 / 3, rel=1e-4)
    assert gamma(5, 0.75) == pytest.approx(joined_rate(6, 1.0, 0.75) / joined_rate(5, 1.0, 0.75))


@given(SESSIONS, st.floats(0, 0.999999))
def test_the_total_rate_is_constant(waves: Waves, x: float) -> None:
    base_channel = waves._base * waves.p**x
    assert base_channel + sum(waves.rates(x)) == pytest.approx(waves.session_rate)


@given(SESSIONS, st.floats(0, 0.999999))
def test_waves_of_more_than_two_slots_fall_exponentially_to_the_base_rate(waves: Waves, x: float) -> None:
    for age in range(2, waves.n):
        assert waves.wave_rate(age, x) == pytest.approx(waves.base_rate * waves.p ** (x + age - waves.n))
    for age in range(min(2, waves.n)):  # the two newest stay below their exponentials but for rounding of L
        assert 0 <= waves.wave_rate(age, x) <= waves.base_rate * waves.p ** (x + age - waves.n) * 1.1


@given(SESSIONS, st.floats(0, 0.999999))
def test_an_active_wave_is_hardly_slower_than_the_base_rate(waves: Waves, x: float) -> None:
    """BCR_P, and nearly P times that for session rates for which one wave less would nearly do."""
    assert min(rate for rate in waves.rates(x) if rate > 0) >= 0.6 * waves.base_rate * waves.p


@given(SESSIONS)
@settings(deadline=None, max_examples=50)
def test_volumes_are_the_integrals_of_the_rates(waves: Waves) -> None:
    middles = (np.arange(400) + 0.5) / 400
    for age in range(waves.n):
        mean = np.mean([waves.wave_rate(age, float(x)) for x in middles])
        volume = waves.wave_volume(age, 1.0)
        assert volume == pytest.approx(float(mean) * waves.slot_s, rel=0.01, abs=0.01 * waves.slot_s)
    whole = sum(waves.wave_volume(age, 1.0) for age in range(waves.n))
    assert whole == pytest.approx(waves.wave_packets)


def test_what_the_header_cannot_number_takes_the_long_format() -> None:
    assert not Waves(1000).is_long
    assert Waves(7000).is_long
    assert Waves(100, slot_s=1.0).is_long  # 300 quiescent slots
    with pytest.raises(ValueError, match="number"):
        Waves(100, slot_s=1.0, quiescence_s=70_000)


@pytest.mark.parametrize("rate", [0.0, 3.9, math.inf, math.nan])
def test_session_rates_that_leave_no_choice_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="session rate"):
        Waves(rate)


def test_what_is_left_of_a_wave_says_its_rate() -> None:
    waves = Waves(1000.0)
    for age in range(2, waves.n):
        for x in (0.0, 0.4, 0.9):
            left = sum(waves.wave_volume(later, 1.0) for later in range(age, waves.n))
            left -= waves.wave_volume(age, x)
            assert waves.rate_before_end(round(left)) == pytest.approx(waves.wave_rate(age, x), abs=0.02)


def test_what_is_left_of_a_wave_says_its_rate_in_its_first_two_slots_too() -> None:
    waves = Waves(1000.0)
    for age in range(waves.n):
        for x in (0.3, 0.6, 0.9):
            if not waves.wave_rate(age, x):
                continue
            left = sum(waves.wave_volume(later, 1.0) for later in range(age, waves.n)) - waves.wave_volume(age, x)
            assert waves.rate_with(round(left)) == pytest.approx(waves.wave_rate(age, x), rel=0.02, abs=0.5)
    assert waves.rate_with(waves.wave_packets) == waves.base_rate
