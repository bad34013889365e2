"""One child's repairs and its retransmission window."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.sack import bits
from hosts.parts.vegas import VegasOptions
from hosts.protocols.mtcp.repairs import Repairs

RTT = 0.1


def make() -> Repairs:
    return Repairs(VegasOptions(), 512)


def test_the_window_limits_what_is_sent() -> None:
    repairs = make()
    for seq in (3, 5, 9):
        assert repairs.found_missing(seq, RTT, 0.0, now=1.0)
    assert list(repairs.take(1.0)) == [3]
    assert list(repairs.take(1.0)) == []
    repairs.acknowledged(3, 1.1)
    assert list(repairs.take(1.1)) == [5, 9]  # slow start
    assert repairs.retransmission_window.cwnd == 2


def test_quiescence_keeps_the_window() -> None:
    repairs = make()
    for seq in range(20):
        repairs.found_missing(seq, RTT, 0.0, now=1.0)
    now = 1.0
    while repairs:
        for seq in list(repairs.take(now)):
            repairs.measured(RTT)
            repairs.acknowledged(seq, now + RTT)
        now += RTT
    window = repairs.retransmission_window.cwnd
    assert window > 1
    repairs.found_missing(50, RTT, 0.0, now=500.0)
    assert repairs.retransmission_window.cwnd == window


def test_a_duplicate_needs_a_round_trip_and_a_later_packet() -> None:
    repairs = make()
    repairs.found_missing(3, RTT, 0.0, now=1.0)
    assert list(repairs.take(1.0)) == [3]
    assert not repairs.found_missing(3, RTT, 2.0, now=1.05)
    assert repairs.duplicates == 0
    assert not repairs.found_missing(3, RTT, 0.9, now=1.2)
    assert repairs.duplicates == 0
    assert not repairs.found_missing(3, RTT, 1.1, now=1.2)
    assert repairs.duplicates == 1
    assert list(repairs.take(1.2)) == [3]
    repairs.acknowledged(3, 1.3)
    assert repairs.duplicates == 0
    assert not repairs


def test_a_repair_that_was_not_sent_cannot_time_out() -> None:
    repairs = make()
    for seq in (3, 4):
        repairs.found_missing(seq, RTT, 0.0, now=1.0)
    list(repairs.take(1.0))
    assert not repairs.timed_out(4)
    assert repairs.timed_out(3)
    assert repairs.timed_out(7)  # nothing was known of it
    assert repairs.retransmission_window.cwnd == 1
    assert list(repairs.take(2.0)) == [3]


def test_what_arrives_while_it_waits_is_not_sent() -> None:
    repairs = make()
    for seq in (3, 4):
        repairs.found_missing(seq, RTT, 0.0, now=1.0)
    assert list(repairs.take(1.0)) == [3]
    repairs.acknowledged(4, 1.1)
    repairs.acknowledged(3, 1.1)
    assert list(repairs.take(1.1)) == []
    assert not repairs


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 200)), max_size=60), st.integers(0, 100), st.integers(0))
def test_bitmaps_tell_what_is_known(steps: list[tuple[bool, int]], base: int, bitmap: int) -> None:
    """In whatever order packets were found to be missing, and have come."""
    repairs, known = make(), set()
    for is_missing, seq in steps:
        if is_missing:
            repairs.found_missing(seq, RTT, 0.0, now=1.0)
            known.add(seq)
        elif seq in known:
            repairs.acknowledged(seq, 1.0)
            known.discard(seq)
    said = set(bits(bitmap, base))
    assert set(repairs.among(bitmap, base)) == said & known
    assert set(bits(repairs.unknown(bitmap, base), base)) == said - known


def test_only_what_was_sent_long_ago_is_overdue() -> None:
    repairs = make()
    repairs.begin(2)
    for seq in (3, 4):
        repairs.found_missing(seq, RTT, 0.0, now=1.0)
    assert not repairs.is_overdue(RTT, 9.0, 9.0), "nothing was sent"
    assert list(repairs.take(1.0)) == [3]
    assert not repairs.is_overdue(RTT, 9.0, 1.05)
    assert not repairs.is_overdue(RTT, 0.9, 9.0)
    assert repairs.is_overdue(RTT, 1.1, 1.2)
    repairs.acknowledged(3, 1.2)
    assert not repairs.is_overdue(RTT, 9.0, 9.0)


@given(st.lists(st.tuples(st.sampled_from("mtakd"), st.integers(0, 12)), max_size=300))
def test_the_window_holds_in_any_order(steps: list[tuple[str, int]]) -> None:
    repairs = make()
    flying: set[int] = set()
    now = 1.0
    for what, seq in steps:
        now += 0.01
        if what == "m":
            repairs.found_missing(seq, RTT, 0.0, now=now)
        elif what == "d":
            if seq in repairs and repairs.duplicates == 0:
                repairs.found_missing(seq, -1.0, now + 1, now=now)
                flying.discard(seq)
        elif what == "t":
            repairs.timed_out(seq)
            flying.discard(seq)
        elif what == "a" and seq in repairs:
            repairs.acknowledged(seq, now)
            flying.discard(seq)
        elif what == "k":
            for taken in repairs.take(now):
                assert taken in repairs
                assert taken not in flying
                flying.add(taken)
                assert len(flying) <= max(1, int(repairs.retransmission_window.cwnd))
        assert all(seq in repairs for seq in flying)
        assert sorted(repairs.pending()) == sorted(set(repairs.pending()))
