"""The mean of a window that losses cut by chance: who of many is sure that it wants less."""

import random
from math import inf, log, sqrt
from statistics import mean

import pytest

from hosts.protocols.arbor.level import EPOCHS, SPREAD, Level
from hosts.protocols.arbor.window import Arrival, EmulatedWindow

RTT = 0.05


class Receiver:
    """A window that packets come to at a rate that others decide, each lost with the same probability."""

    def __init__(self, loss: float, receivers: int, seed: int) -> None:
        self.window = EmulatedWindow(10, 65_536)
        self.window.level.among(receivers)
        self._loss = loss
        self._random = random.Random(seed)
        self._now = 0.0

    def hear(self, packets: int, rate: float) -> None:
        for _ in range(packets):
            self._now += 1 / rate
            arrival = Arrival(self._now, int(self._now * 1e6), RTT, RTT, RTT / 2, 0.0, False, rate)
            if self._random.random() < self._loss:
                self.window.lost(arrival, 0.0)
            else:
                self.window.arrived(arrival, 2 * rate * RTT)

    @property
    def likely(self) -> float:
        return self.window.level.likely(self.window.cwnd)


def test_of_many_that_lose_alike_nobody_is_far_below_the_mean() -> None:
    """The least mean of 300 is, and the least window even more; but what it is likely to be is not."""
    loss, packets = 0.05, 1000
    cwnd = 5.7  # what a window under such losses is on average: of an infinite run of one
    receivers = [Receiver(loss, 300, seed) for seed in range(300)]
    for receiver in receivers:
        receiver.hear(packets, cwnd / RTT)
    means = [receiver.window.level.mean for receiver in receivers]
    assert mean(means) == pytest.approx(cwnd, rel=0.1)
    assert min(receiver.window.cwnd for receiver in receivers) < 0.6 * cwnd
    assert min(means) < 0.85 * cwnd
    assert min(receiver.likely for receiver in receivers) > 0.95 * cwnd


def test_who_loses_more_than_the_others_is_heard_in_time() -> None:
    """Four times the losses, half of the window: told from chance among 300 within 60 losses."""
    cwnd = 5.7
    worse = Receiver(0.2, 300, 1)
    heard = 0
    while worse.likely >= 0.95 * cwnd:
        worse.hear(1, cwnd / RTT)
        heard += 1
        assert heard < 60 / 0.2


@pytest.mark.parametrize("receivers", [1, 2, 30, 1000, 100_000])
def test_the_doubt_that_remains_is_bounded_for_any_number(receivers: int) -> None:
    level = Level()
    level.among(receivers)
    for _ in range(1000):
        level.round_ended(10, 100)
        level.lost(10, 100)
    assert level.mean == pytest.approx(10)
    assert level.epochs == int(EPOCHS * (1 + log(receivers)))
    assert 10 <= level.likely(0) <= 10 * (1 + SPREAD * sqrt(2 / EPOCHS)) + 0.2


def test_the_mean_is_of_round_trips_and_beside_it_is_the_sender_s_rate_of_the_same() -> None:
    level = Level()
    level.lost(8, 1000)  # slow start ends
    assert (level.mean, level.rate) == (8, 1000)
    for cwnd in (8, 10, 12):
        level.round_ended(cwnd, 20 * cwnd)
    level.lost(12, 240)
    assert level.mean == pytest.approx(9)
    assert level.rate == pytest.approx(200)  # the end of slow start no longer counts


def test_where_a_queue_is_full_the_window_itself_counts() -> None:
    level = Level()
    level.lost(8, 100)
    level.forget()
    assert level.epochs == 0
    assert level.likely(3) == 3
    assert level.likely(inf) == inf
