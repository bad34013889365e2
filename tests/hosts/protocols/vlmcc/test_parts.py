"""The small parts: Vegas' difference, packets in travel, bursts, members, gaps, spreading."""

from math import inf, log
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.protocols.vlmcc.backlog import vegas_difference
from hosts.protocols.vlmcc.gaps import LONGEST_GAP, REORDERING, Gaps
from hosts.protocols.vlmcc.members import FORGOTTEN_AFTER, MOST, Members
from hosts.protocols.vlmcc.spread import Wait, spread_rtts
from hosts.protocols.vlmcc.transit import BurstPacer, Transit

A, B = Address("10.0.1.1", 1), Address("10.0.1.2", 1)


@settings(deadline=None)
@given(st.floats(2, 500), st.floats(0.01, 1), st.floats(0, 1))
def test_the_difference_of_a_full_window_is_what_waits(cwnd: float, base: float, queue: float) -> None:
    rtt = base + queue
    waiting = cwnd / rtt * queue  # Little's law
    assert vegas_difference(cwnd, cwnd, rtt, base) == pytest.approx(waiting, abs=1e-9)


def test_the_difference_of_an_unused_window_is_what_is_unused() -> None:
    assert vegas_difference(20, 5, 0.1, 0.1) == 15


def test_packets_are_lost_in_the_order_in_which_they_left() -> None:
    transit = Transit()
    assert transit.oldest_at is None
    for seq in range(5):
        transit.sent(seq, seq * 0.1)
    assert transit.acknowledged(1)
    assert not transit.acknowledged(1)
    assert transit.take_lost(0.99, 1.0) == []
    assert transit.take_lost(1.2, 1.0) == [0, 2]
    assert transit.oldest_at == pytest.approx(0.3)
    assert len(transit) == 2
    transit.clear()
    assert len(transit) == 0
    assert transit.take_lost(9.0, 1.0) == []


def test_eq_3_a_window_takes_at_least_half_a_round_trip() -> None:
    """Bursts of two, rtt / W apart: "a full window of packets can still be sent in just half the time of an RTT"."""
    pacer, now = BurstPacer(), 0.0
    sent: list[float] = []
    cwnd, rtt = 10, 0.2
    while len(sent) < cwnd:
        now = max(now, pacer.next_at)
        sent.append(now)
        pacer.sent(now, rtt / cwnd)
    assert sent == pytest.approx([0, 0, 0.02, 0.02, 0.04, 0.04, 0.06, 0.06, 0.08, 0.08])
    assert pacer.next_at == pytest.approx(rtt / 2)


def test_packets_that_acknowledgments_space_do_not_wait() -> None:
    """Seven in a row leave the bottleneck 8 ms apart, in a round trip of 130 ms: nobody else may take their places."""
    pacer, rtt, cwnd = BurstPacer(), 0.13, 7
    for number in range(cwnd):
        assert pacer.next_at <= number * 0.008
        pacer.sent(number * 0.008, rtt / cwnd)


def test_acknowledgments_all_at_once_do_not_send_a_window_at_once() -> None:
    """Whatever comes: in each delay two packets, after one burst at most."""
    pacer, rtt, cwnd, now = BurstPacer(), 0.2, 10, 0.0
    sent: list[float] = []
    for number in range(3 * cwnd):
        now = max(now, number * 1e-4, pacer.next_at)
        sent.append(now)
        pacer.sent(now, rtt / cwnd)
    for first, last in zip(sent, sent[cwnd:], strict=False):
        assert last - first > 0.4 * rtt
    assert sent[-1] > 1.4 * rtt


def test_members_are_soft_state() -> None:
    members = Members(10.0)
    assert members.hear(1, A, 0.0)
    assert members.hear(2, B, 5.0)
    assert not members.hear(2, A, 5.0)  # in another's name
    assert members.knows(2, B)
    assert not members.knows(2, A)
    assert members.hear(1, A, 20.0)
    members.expire(5.0 + FORGOTTEN_AFTER * 10.0)
    assert len(members) == 2
    members.expire(5.1 + FORGOTTEN_AFTER * 10.0)
    assert members.knows(1, A)
    assert not members.knows(2, B)
    members.remove(1)
    members.remove(1)
    assert len(members) == 0


def test_members_are_bounded() -> None:
    members = Members(1e6)
    for receiver in range(MOST):
        assert members.hear(receiver + 1, A, 0.0)
    assert not members.hear(MOST + 1, A, 0.0)
    assert members.hear(1, A, 0.0)


def test_a_gap_is_lost_when_three_later_packets_have_come() -> None:
    gaps = Gaps()
    assert gaps.arrived(10)  # joined here
    assert gaps.arrived(12)
    assert gaps.arrived(13)
    assert gaps.take_lost() == 0
    assert gaps.arrived(14)
    assert gaps.take_lost() == 1
    assert not gaps.arrived(11)
    assert not gaps.arrived(14)
    assert gaps.take_lost() == 0
    assert gaps.lost_packets == 1


def test_reordering_by_two_is_no_loss() -> None:
    gaps = Gaps()
    for seq in (0, 3, 1, 2, 5, 4, 8, 6, 7, 9, 10, 11):
        assert gaps.arrived(seq)
        assert gaps.take_lost() == 0
    assert gaps.lost_packets == 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=120))
def test_gaps_against_a_plain_model(arrivals: list[int]) -> None:
    gaps = Gaps()
    seen: set[int] = set()
    lost: set[int] = set()
    for seq in arrivals:
        first = min(arrivals[0], seq)
        news = seq not in seen and seq not in lost and first == arrivals[0]
        assert gaps.arrived(seq) == news
        if news:
            seen.add(seq)
        now_lost = {one for one in range(arrivals[0], max(seen) - REORDERING + 1) if one not in seen} - lost
        lost |= now_lost
        assert gaps.take_lost() == len(now_lost)
    assert gaps.lost_packets == len(lost)


def test_an_interruption_is_counted_and_not_remembered() -> None:
    gaps = Gaps()
    gaps.arrived(0)
    gaps.arrived(10**9)
    gaps.arrived(10**9 + 5)
    gaps.take_lost()
    assert gaps.lost_packets == 10**9 - 1 + 4 - 2
    assert len(gaps._missing) < LONGEST_GAP


@pytest.mark.parametrize("receivers", [2, 10, 1000])
def test_so_many_have_spoken_after_so_many_round_trips(receivers: int) -> None:
    rng = Random(1)
    waits = [spread_rtts(rng, receivers, 6.0) for _ in range(20_000)]
    longest = log(receivers) / log(6.0)
    assert all(0 <= wait <= longest for wait in waits)
    for rtts in (0.0, 0.3, 0.6 * longest, 0.9 * longest):
        share = sum(wait <= rtts for wait in waits) / len(waits)
        assert share == pytest.approx(min(1.0, 6.0**rtts / receivers), abs=0.012)


def test_who_is_alone_does_not_wait_nor_does_anybody_where_nobody_is_to_wait() -> None:
    assert spread_rtts(Random(1), 1, 6.0) == 0
    assert spread_rtts(Random(1), 0, 6.0) == 0
    assert spread_rtts(Random(1), 1000, 0.0) == 0


def test_a_wait_is_as_long_as_the_round_trips_are_when_it_ends() -> None:
    wait = Wait()
    wait.stretch(0.1)
    assert wait.at == inf  # nobody waits
    wait.begin(2.0, 0.1, 10.0)
    assert wait.at == 10.2
    wait.stretch(0.3)
    assert wait.at == 10.6
    wait.stretch(0.2)  # a queue that drains does not hasten it
    assert wait.at == 10.6
    wait.end()
    assert wait.at == inf
