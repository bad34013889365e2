"""A queue that a BBR fills is told from others by how it empties it."""

from collections.abc import Callable

import pytest

from hosts.protocols.arbor.drains import EVERY_S, KNOWN_S, LASTS_S, Drains

BASE = 0.03
QUEUE = 0.02
SPACING = 0.002


def probes(every: float, lasts: float = LASTS_S + BASE) -> Callable[[float], float]:
    """The wait at a time: full, and empty for so long at such distances."""
    return lambda at: 0.0 if at % every < lasts else QUEUE


def sawtooth(at: float) -> float:
    """A window's: sudden cuts, and by and by full again."""
    return max(0.0, QUEUE * (at % 2 - 0.3) / 1.7)


def seen(waiting: Callable[[float], float], seconds: float, drains: Drains | None = None, since: float = 1.0) -> Drains:
    drains = drains or Drains()
    for number in range(int(seconds / SPACING)):
        at = since + number * SPACING
        drains.add(at, waiting(at), BASE + waiting(at))
    return drains


def test_two_probes_of_the_round_trip_show_a_bbr_until_they_fail_to_come() -> None:
    every = EVERY_S + LASTS_S + BASE
    one = seen(probes(every), 1.5 * every)
    assert not one.shows_bbr(1.5 * every + 1)
    two = seen(probes(every), 2.5 * every)
    last = 2 * every + LASTS_S
    assert two.shows_bbr(last + KNOWN_S - 1)
    assert not two.shows_bbr(last + KNOWN_S + 1)


def test_one_that_is_missed_in_between_does_not_hide_it() -> None:
    every = 2 * (EVERY_S + LASTS_S + BASE)
    assert seen(probes(every), 2.5 * every).shows_bbr(2.5 * every)


@pytest.mark.parametrize(
    "waiting",
    [
        sawtooth,
        probes(5.0),
        probes(15.0),
        probes(EVERY_S + LASTS_S, 0.05),
        probes(EVERY_S + LASTS_S, 1.5),
        lambda at: probes(EVERY_S + LASTS_S)(at) / 10,
    ],
    ids=["a window's", "too often", "out of time", "too short", "too long", "no queue"],
)
def test_others_are_not_taken_for_one(waiting: Callable[[float], float]) -> None:
    drains = Drains()
    for second in range(60):
        seen(waiting, 1.0, drains, 1.0 + second)
        assert not drains.shows_bbr(second)


def test_what_fills_slowly_is_no_bbr() -> None:
    """Though it was emptied at once."""
    every = EVERY_S + LASTS_S
    slow = seen(lambda at: QUEUE * min(1.0, max(0.0, at % every - LASTS_S)), 40.0)
    assert not slow.shows_bbr(41.0)
