from math import inf

import pytest

from hosts.endpoint import Address
from hosts.protocols.arbor.going import FORSAKEN_S, LEAST_TIMEOUT_S, Going, Limiting
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import Report
from hosts.wire.units import to_units

RTT = 0.1
OTHER = Address("10.0.1.1", 40000)


def report(cwnd: float) -> Report:
    return Report(7, 1, to_units(cwnd), 100_000, 0, 0, 0)


def going(cwnd: float = 10) -> Going:
    one = Going(ArborOptions())
    one.follow(Limiting(1, OTHER, 0.0), -1, RTT, cwnd, 0.0)
    return one


def test_packets_leave_by_the_pace_until_the_window_is_full() -> None:
    one = going()
    times = []
    seq = 0
    while (at := one.may_send_at(seq)) < inf:
        now = max(0.0, at)
        one.sent(now)
        times.append(now)
        seq += 1
    assert len(times) == 10
    # Twice as fast as the window asks for, as slow start needs; a millisecond's packets may leave together.
    assert times[-1] == pytest.approx(9 * RTT / 10 / 2, abs=0.002)
    one.reported(4, RTT, report(10), RTT)
    assert one.may_send_at(seq) < inf


def test_nobody_s_word_more_than_doubles_the_window() -> None:
    one = going()
    one.reported(0, RTT, report(1e6), RTT)
    assert one.cwnd == 20


def test_silence_is_a_time_out_and_slow_start() -> None:
    one = going(100)
    assert one.timeout_at(0) == inf  # nothing is under way
    timeout = one.timeout_at(50)
    assert LEAST_TIMEOUT_S < timeout < 1
    one.timed_out(50, timeout)
    assert one.restarting
    assert [one.may_send_at(seq) < inf for seq in (50, 51)] == [True, False]
    assert one.timeout_at(51) - timeout == pytest.approx(2 * timeout)
    one.reported(50, RTT, report(100), timeout + RTT)
    assert [one.may_send_at(seq) < inf for seq in (52, 53)] == [True, False]
    for seq in range(51, 160):
        one.reported(seq, RTT, report(100), timeout + 2 * RTT)
    assert not one.restarting


def test_who_is_silent_for_long_limits_nothing() -> None:
    one = going()
    now, seq = 0.0, 10
    while one.limiting is not None:
        now = one.timeout_at(seq)
        one.timed_out(seq, now)
        seq += 1
    assert FORSAKEN_S <= now < 3 * FORSAKEN_S


def test_reports_of_nothing_new_are_silence() -> None:
    """As of a receiver that has not heard that it limits the rate, for the packets that say so are lost."""
    one = going(2)
    one.reported(0, RTT, report(2), RTT)
    timeout = one.timeout_at(2)
    for number in range(1, 20):
        one.reported(0, RTT * (1 + number), report(2), RTT * (1 + number / 4))
    assert one.timeout_at(2) == timeout
    assert one.srtt == RTT


def test_packets_that_are_due_leave_together_as_one_by_one() -> None:
    several, alone = going(100), going(100)
    for one in (several, alone):
        one.sent(0.0)
    now = 0.0101  # ten times what a packet takes at twice the window's rate, of which a millisecond is made up for
    count = several.due(1, now)
    several.sent(now, count)
    left = 0
    while alone.may_send_at(1 + left) <= now:
        alone.sent(now)
        left += 1
    assert count == left > 1
    assert several.may_send_at(1 + count) == pytest.approx(alone.may_send_at(1 + left))
    assert several.due(104, 1.0) == 2  # of a window of 100 and half a report's packets, 106
    assert several.may_send_at(106) == inf


def test_below_hosts_times_windows_are_compared() -> None:
    one = going(100)  # 1,000 packets a second
    assert one.is_more_than(40, 0.05)
    assert not one.is_more_than(60, 0.05)
    one.follow(Limiting(1, OTHER, 0.0), -1, 0.0002, 100, 0.0)
    assert not one.is_more_than(110, 0.001)  # by rates it would be a quarter
    assert one.is_more_than(90, 0.0001)
    assert one.is_more_than(190, 0.004)
    assert not one.is_more_than(210, 0.004)
