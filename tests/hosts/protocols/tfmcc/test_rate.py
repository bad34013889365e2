"""The sender's rate: bounds, cuts, the ways up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.tfmcc.rate import RateControl

INF = float("inf")


def test_the_successor_of_a_clr_is_approached_by_one_packet_per_rtt() -> None:
    control = RateControl(100e3, 1.0, INF, always_limited=False)
    control.hold(10.0)
    control.allow(300e3, 0.1, 1000, 10.0)
    assert control.at(10.0) == 100e3
    assert control.at(11.0) == pytest.approx(100e3 + 1000 / 0.1 * 10)  # a packet per RTT more in each of ten RTTs
    assert control.at(12.5) == 300e3
    control.allow(500e3, 0.1, 1000, 13.0)  # reached: from now on the loss history limits
    assert control.at(13.0) == 500e3


def test_on_a_long_path_the_successor_is_approached_as_by_tcps() -> None:
    """Reno's packet a round trip time, and CUBIC's curve on average: 1 MB/s more are 200 packets of 1,000 bytes."""
    control = RateControl(1e6, 1.0, INF, always_limited=False, as_tcp=True)
    control.hold(10.0)
    control.allow(5e6, 0.2, 1000, 10.0)
    assert control.at(11.0) == pytest.approx(1e6 + 5 * 1000 / 0.2)  # at first no more than that
    assert control.at(20.0) == pytest.approx(1e6 + (50 + 0.4 * 10**3) / 2 * 1000 / 0.2)
    control.allow(9e6, 0.2, 1000, 20.0)  # another report: the curve goes on
    assert control.at(22.0) == pytest.approx(1e6 + (60 + 0.4 * 12**3) / 2 * 1000 / 0.2)
    control.cut(2e6, 22.0)  # and begins anew with a cut
    control.allow(9e6, 0.2, 1000, 22.0)
    assert control.at(23.0) == pytest.approx(2e6 + 5 * 1000 / 0.2)


def test_rfc_4654_limits_every_increase() -> None:
    control = RateControl(100e3, 1.0, INF, always_limited=True)
    control.allow(150e3, 0.1, 1000, 0.0)
    assert control.at(1.0) == 150e3 or control.at(1.0) < 201e3
    control.allow(500e3, 0.1, 1000, 1.0)
    assert control.at(1.0) == pytest.approx(150e3)
    assert control.at(1.1) == pytest.approx(160e3)


@given(st.lists(st.tuples(st.sampled_from(["cut", "allow", "hold", "slowstart"]), st.floats(0, 1e12), st.floats(0, 5))))
def test_the_rate_stays_within_its_bounds_and_is_cut_at_once(steps: list[tuple[str, float, float]]) -> None:
    control = RateControl(1e3, 125.0, 1e9, always_limited=False)
    now = 0.0
    for kind, rate, wait in steps:
        before = control.at(now)
        if kind == "cut":
            control.cut(rate, now)
            assert control.at(now) <= max(rate, 125.0)
        elif kind == "allow":
            control.allow(rate, 0.1, 1000, now)
            assert control.at(now) <= max(rate, before)
        elif kind == "hold":
            control.hold(now)
            assert control.at(now) == before
        else:
            control.slowstart(rate, 0.1, now)
            assert control.at(now) == pytest.approx(before)
        now += wait
        assert 125.0 <= control.at(now) <= 1e9


def test_slowstart_reaches_its_target_in_one_rtt() -> None:
    control = RateControl(10e3, 1.0, INF, always_limited=False)
    control.slowstart(20e3, 0.2, 1.0)
    assert control.at(1.1) == pytest.approx(15e3)
    assert control.at(1.2) == 20e3
