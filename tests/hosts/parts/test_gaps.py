"""Gaps in what arrives."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.parts.gaps import LONGEST_GAP, REORDERING, Gaps


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
