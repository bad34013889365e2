from math import inf

import pytest

from hosts.parts.rate_limit import RateLimit
from hosts.parts.realtime import LATE_S
from hosts.wire.header import IPV4_UDP_BYTES


def test_packets_leave_a_packet_s_time_apart() -> None:
    limit = RateLimit(1e6)
    assert limit.until == -inf
    limit.sent(1250 - IPV4_UDP_BYTES, 5.0)
    assert limit.until == pytest.approx(5.0 - LATE_S + 0.01)
    limit.sent(1250 - IPV4_UDP_BYTES, limit.until)
    assert limit.until == pytest.approx(5.0 - LATE_S + 0.02)


def test_what_a_timer_is_late_is_made_up_for_and_no_more() -> None:
    limit = RateLimit(1e6)
    limit.sent(1250 - IPV4_UDP_BYTES, 5.0)
    limit.sent(1250 - IPV4_UDP_BYTES, 7.0)
    assert limit.until == pytest.approx(7.0 - LATE_S + 0.01)


def test_without_a_bound_nothing_waits() -> None:
    limit = RateLimit(0.0)
    limit.sent(1000, 5.0)
    assert limit.until == -inf
