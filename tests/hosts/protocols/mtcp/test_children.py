"""What a parent keeps of a child."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from tests.hosts.protocols.mtcp.parent import ONE


@given(st.lists(st.floats(0.001, 2.0), min_size=1, max_size=50), st.floats(-1e6, 1e6))
def test_the_clocks_origin_does_not_matter_to_the_least_delay(samples: list[float], offset: float) -> None:
    plain, shifted = (
        Child(number, ONE, MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20) for number in (0, 1)
    )
    for sample in samples:
        plain.add_rtd(sample, 0.1, 1.0)
        shifted.add_rtd(sample + offset, 0.1, 1.0)
    assert plain.rtd_min == min(samples)
    assert shifted.rtd_min - offset == pytest.approx(plain.rtd_min, abs=1e-6)
    assert shifted.take_waiting() == pytest.approx(0.0, abs=1e-6)


def test_who_has_all_and_takes_it_from_its_buffer_by_and_by_is_there_and_gets_on() -> None:
    child = Child(0, ONE, MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1000)
    child.acknowledged(2, 100, 2000, 2000, 1.0)
    assert (child.presence.times, child.progress_at) == (1, 1.0)
    for now, window in ((3.0, 100), (5.0, 200), (7.0, 300), (9.0, 300)):
        child.acknowledged(2, window, 2000, 2000, now)
    assert (child.presence.times, child.progress_at) == (3, 7.0)


def test_who_says_that_it_has_taken_what_it_cannot_have_shows_nothing() -> None:
    child = Child(0, ONE, MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1000)
    for now in range(1, 9):
        child.acknowledged(0, 1000 + now, 0, 0, float(now))
    assert (child.presence.times, child.progress_at) == (0, 0.0)
