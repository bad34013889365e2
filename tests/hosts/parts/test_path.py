"""A follower's rtt from one-way delays (2.3): the way back does not count, losses do no harm, clocks may drift."""

from collections.abc import Callable, Iterator
from random import Random

import pytest

from hosts.parts.path import Path

FORTH, BACK = 0.030, 0.020
START_TIMES = (0.5, 10.5, 30.5, 70.5, *(130.5 + 60 * n for n in range(58)))


def watch(
    seconds: float,
    *,
    ppm: float = 0.0,
    queue: Callable[[float], float] = lambda now: 0.0,
    back_queue: Callable[[float], float] = lambda now: 0.0,
    kept: Callable[[int], bool] = lambda number: True,
    gap: float = 0.1,
) -> Iterator[tuple[float, float, float]]:
    """(Time, what the rtt is without the way back's queue, Path's rtt) of each packet; our clock gains `ppm`."""
    path, offset = Path(), 1234.5
    starts = [time for time in START_TIMES if time < seconds]

    def clock(time: float) -> float:
        return time * (1 + ppm * 1e-6) + offset

    for number in range(int(seconds / gap)):
        sent = number * gap
        while starts and starts[0] <= sent:
            asked = starts.pop(0)
            path.started(clock(asked) + FORTH, asked + BACK + back_queue(asked) - clock(asked))
        if not kept(number):
            continue
        waited = queue(sent)
        at = sent + FORTH + waited
        here = clock(at) - sent
        path.arrived(clock(at), here)
        if path.is_known:
            yield sent, FORTH + BACK + waited, path.rtt(clock(at), here)
            assert path.base_rtt <= path.rtt(clock(at), here) + 1e-9


def test_the_queue_on_the_way_here_is_seen_whatever_is_lost() -> None:
    rng = Random(1)
    for _, true, seen in watch(60, queue=lambda now: 0.1 * (now % 7) / 7, kept=lambda number: rng.random() < 0.5):
        assert seen == pytest.approx(true, abs=1e-6)


def test_a_queue_on_the_way_back_does_not_count() -> None:
    def busy(now: float) -> float:
        return 0.2 if 5 < now < 400 else 0.0

    for _, true, seen in watch(600, back_queue=busy):
        assert seen == pytest.approx(true, abs=1e-6)


def test_a_way_back_that_was_busy_in_the_beginning_is_measured_again() -> None:
    rows = list(watch(60, back_queue=lambda now: 0.2 if now < 5 else 0.0))
    assert rows[10][2] == pytest.approx(FORTH + BACK + 0.2, abs=1e-6)
    assert rows[-1][2] == pytest.approx(FORTH + BACK, abs=1e-6)


@pytest.mark.parametrize("ppm", [100.0, -100.0, 30.0])
def test_an_hour_of_drift(ppm: float) -> None:
    """100 ppm are 360 ms in an hour."""
    rng = Random(1)

    def jitter(now: float) -> float:
        return rng.expovariate(1 / 0.0005)

    for sent, true, seen in watch(3600, ppm=ppm, queue=jitter, back_queue=jitter):
        assert seen == pytest.approx(true, abs=0.005 if sent < 300 else 0.002)


@pytest.mark.parametrize("ppm", [100.0, -100.0])
def test_an_hour_of_drift_behind_a_queue_that_comes_and_goes(ppm: float) -> None:
    def queue(now: float) -> float:
        return 0.08 * (now % 3) / 3 if now % 400 > 200 else 0.0

    def back_queue(now: float) -> float:
        return 0.1 if now % 700 > 500 else 0.0

    for sent, true, seen in watch(3600, ppm=ppm, queue=queue, back_queue=back_queue):
        if sent > 300:
            assert seen == pytest.approx(true, abs=0.003)


@pytest.mark.parametrize("both", [False, True])
def test_queues_that_build_up_are_no_drift(both: bool) -> None:
    """For ten minutes the queues grow as clocks of 100 ppm would have it, in one direction or in both."""

    def grow(now: float) -> float:
        return 100e-6 * now

    for sent, true, seen in watch(600, queue=grow, back_queue=grow if both else lambda now: 0.0):
        assert seen == pytest.approx(true, abs=1e-3), sent


def test_base_rtt_follows_the_clock_and_not_the_queue() -> None:
    path = Path()
    path.started(0.0, 0.02)
    for number in range(3000):
        now = number * 0.1
        path.arrived(now, 0.03 + (0.05 if number else 0.0))
    assert path.base_rtt == pytest.approx(0.05)


def test_a_moments_doubt_beside_others_does_not_forget_the_way_without_a_queue() -> None:
    """It is 50 ms long. A TCP's queue is never shorter than 100 ms, which is not seen for a moment after 15 s."""
    path = Path(learns_again=True)
    path.started(FORTH, BACK)
    for number in range(250):
        now = number * 0.1
        path.arrived(now, FORTH + (0.1 if number > 20 else 0.0))
        path.note_company(number > 20 and number != 150, now)
    assert path.base_rtt == pytest.approx(FORTH + BACK)
    for number in range(250, 1200):  # they have gone: it is another path
        path.arrived(number * 0.1, FORTH + 0.1)
        path.note_company(False, number * 0.1)
    assert path.base_rtt > FORTH + BACK + 0.09
