import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.tfmcc.rate_float import (
    NO_RATE,
    RATE_BITS,
    RTT_MAX,
    decode_rate,
    decode_rtt,
    encode_rate,
    encode_rtt,
)


def test_codes_order_as_values_and_survive_the_way_there_and_back() -> None:
    rates = [decode_rate(code) for code in range(1 << RATE_BITS)]
    assert rates == sorted(set(rates))
    assert [encode_rate(rate) for rate in rates[:-1]] == list(range(NO_RATE))
    delays = [decode_rtt(code) for code in range(RTT_MAX + 1)]
    assert delays == sorted(set(delays))
    assert [encode_rtt(delay) for delay in delays] == list(range(RTT_MAX + 1))


def test_the_ranges_are_the_rfcs() -> None:
    assert decode_rate(0) == 100
    assert decode_rate(NO_RATE) == pytest.approx(428e9, rel=1e-2)
    assert decode_rtt(0) == 0.001
    assert decode_rtt(RTT_MAX) == pytest.approx(63.5, rel=1e-2)


@given(st.floats(100, 4e11))
def test_a_rate_is_rounded_down_by_less_than_a_hundredth(bps: float) -> None:
    assert bps * (1 - 1 / 128) <= decode_rate(encode_rate(bps)) <= bps * (1 + 1e-8)


@given(st.floats(0.001, 63))
def test_a_round_trip_time_is_rounded_up_by_less_than_a_sixteenth(seconds: float) -> None:
    assert seconds * (1 - 1e-8) <= decode_rtt(encode_rtt(seconds)) <= seconds * (1 + 1 / 16 + 1e-8)


@pytest.mark.parametrize(("value", "rate", "rtt"), [(0.0, 0, 0), (-1.0, 0, 0), (1e300, NO_RATE - 1, RTT_MAX)])
def test_what_is_out_of_range_gets_the_nearest_code(value: float, rate: int, rtt: int) -> None:
    assert (encode_rate(value), encode_rtt(value)) == (rate, rtt)
    assert encode_rate(float("nan")) == 0
    assert encode_rtt(float("inf")) == RTT_MAX
