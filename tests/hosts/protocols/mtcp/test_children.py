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
