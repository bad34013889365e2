import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.security.keys import KeysError
from hosts.security.schedule import LEAD_S, OVERLAP_S, Epoch, Schedule

ONE, TWO, THREE = bytes(32), bytes([1] * 32), bytes([2] * 32)


def test_a_roll_is_opened_before_it_seals_and_the_one_before_for_a_while_after() -> None:
    schedule = Schedule([Epoch(1, ONE, 0.0)]).rolled(TWO, 100.0)
    assert schedule.at(100.0) == ((2, TWO), (1, ONE))
    assert schedule.next_at(100.0) == 100.0 + LEAD_S
    assert schedule.at(100.0 + LEAD_S) == ((1, ONE), (2, TWO))
    assert schedule.next_at(100.0 + LEAD_S) == 100.0 + LEAD_S + OVERLAP_S
    assert schedule.at(100.0 + LEAD_S + OVERLAP_S) == ((2, TWO),)
    assert schedule.next_at(100.0 + LEAD_S + OVERLAP_S) is None


def test_one_roll_follows_another_only_when_that_is_over() -> None:
    schedule = Schedule([Epoch(1, ONE, 0.0)]).rolled(TWO, 100.0)
    for now in (100.0, 100.0 + LEAD_S, 99.9 + LEAD_S + OVERLAP_S):
        with pytest.raises(KeysError, match="not over"):
            schedule.rolled(THREE, now)
    assert [one.serial for one in schedule.rolled(THREE, 108.0).epochs] == [2, 3]


def test_who_hears_of_an_epoch_before_it_seals_waits() -> None:
    assert Schedule([Epoch(5, ONE, 50.0)]).at(0.0) == ((5, ONE),), "there is no other"


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=600))
def test_numbers_have_8_bits_and_follow_serials(gaps: list[float]) -> None:
    now, schedule = 0.0, Schedule([Epoch(1, ONE, 0.0)])
    for gap in gaps:
        now += LEAD_S + OVERLAP_S + gap
        schedule = schedule.rolled(TWO, now)
        numbers = [one.number for one in schedule.epochs]
        assert all(1 <= number <= 255 for number in numbers)
        assert numbers[1] == numbers[0] % 255 + 1


@pytest.mark.parametrize(
    "epochs",
    [
        [],
        [Epoch(0, ONE, 0.0)],
        [Epoch(2, ONE, 0.0, 9.0), Epoch(1, TWO, 1.0)],
        [Epoch(1, ONE, 0.0, 9.0), Epoch(1, TWO, 1.0)],
        [Epoch(1, ONE, 0.0, 9.0), Epoch(256, TWO, 1.0)],
        [Epoch(1, ONE, 0.0, 9.0)],
        [Epoch(1, b"short", 0.0)],
        [Epoch(1, ONE, math.nan)],
        [Epoch(1, ONE, 0.0, 9.0), Epoch(2, TWO, 1.0, 9.0), Epoch(3, TWO, 1.0)],
    ],
)
def test_what_is_no_schedule(epochs: list[Any]) -> None:
    with pytest.raises(KeysError):
        Schedule(epochs)


def test_it_shows_no_secret() -> None:
    assert repr(Schedule([Epoch(1, ONE, 0.0)])) == "Schedule(epochs [1])"
