"""The emulated window, packet by packet: what a TCP that sent them would have."""

import random
from math import inf

import pytest

from hosts.parts.cubic import BETA
from hosts.protocols.arbor.window import Arrival, EmulatedWindow
from tests.hosts.protocols.arbor.test_drains import probes, seen

RTT = 0.1


class Path:
    """A window, and packets that come as it wants them."""

    def __init__(self, first: float = 10) -> None:
        self.window = EmulatedWindow(first, 65_536)
        self.now = 0.0
        self.waiting = 0.0

    def packet(self, *, marked: bool = False) -> Arrival:
        sent_us = int(self.now * 1e6)
        rtt = RTT + self.waiting
        return Arrival(self.now + rtt / 2, sent_us, rtt, rtt, rtt / 2, self.waiting, marked)

    def come(self, packets: int, *, marked: bool = False, most: float = inf) -> None:
        for _ in range(packets):
            self.window.arrived(self.packet(marked=marked), most)
            self.now += RTT / self.window.cwnd

    def round(self) -> None:
        """A round trip's packets."""
        end = self.now + RTT
        while self.now < end:
            self.come(1)

    def lose(self, longest_wait: float = 0.0) -> bool:
        return self.window.lost(self.packet(), longest_wait)


def test_slow_start_doubles_in_a_round_trip() -> None:
    path = Path()
    path.come(10)
    assert path.window.cwnd == 20
    assert path.window.slow_start


def test_a_wait_that_grows_ends_slow_start_before_a_loss() -> None:
    """RFC 9406: by a rise of an eighth of the round trip, 16 ms at most; then five rounds at a quarter's growth."""
    path = Path()
    for _ in range(3):
        path.round()
    at_rise = path.window.cwnd
    path.waiting = 0.02
    for _ in range(8):
        path.round()
    assert not path.window.slow_start
    assert path.window.cwnd < at_rise * 2 * (1 + 1 / 4) ** 6


def test_a_loss_leaves_seven_tenths_and_counts_once_a_round_trip() -> None:
    path = Path(100)
    assert path.lose()
    assert path.window.cwnd == 50  # slow start
    path.now += RTT / 2
    assert not path.lose()
    path.now += RTT
    assert path.lose()
    assert path.window.cwnd == pytest.approx(50 * BETA)
    assert path.window.cuts == 2


def test_it_does_not_grow_in_the_round_trip_of_a_cut() -> None:
    path = Path(100)
    path.lose()
    path.come(40)
    assert path.window.cwnd == 50
    path.come(40)
    assert path.window.cwnd > 50


def test_after_a_loss_it_comes_back_by_cubic_s_curve() -> None:
    """RFC 9438, 4.2: at W_max after K = cbrt(W_max (1 - beta) / C) seconds."""
    path = Path(200)
    path.window.slow_start = False
    path.lose()
    path.come(140)  # the round trip of the cut
    began = path.now
    while path.window.cwnd < 199:
        path.come(1)
    k = (200 * (1 - BETA) / 0.4) ** (1 / 3)
    # Less the last packet below the plateau, where the curve is flat.
    assert k * 0.7 < path.now - began < k * 1.05


def test_it_grows_to_no_more_than_what_it_is_told() -> None:
    path = Path()
    path.come(30, most=16)
    assert path.window.cwnd == 16
    path.come(1, most=8)
    assert path.window.cwnd == 8


def test_marks_of_a_short_queue_cut_by_the_part_that_is_marked() -> None:
    path = Path(100)
    path.window.slow_start = False
    path.waiting = 0.001
    for _ in range(200):  # one packet of ten is marked, for long
        path.come(9)
        path.come(1, marked=True)
    window = path.window
    assert window.scalable
    before = window.cwnd
    path.now += 2 * RTT
    path.come(1, marked=True)
    alpha = window._marks.share()
    assert 0.05 < alpha < 0.2
    assert window.cwnd == pytest.approx(before * (1 - alpha / 2), rel=0.01)


@pytest.mark.parametrize(
    ("rtt", "waiting", "reference", "one_in"),
    [
        (0.1, 0.001, 0.1, 5),
        (0.025, 0.001, 0.025, 10),
        (0.0125, 0.001, 0.025, 5),
        # Marks without a wait are for classic packets', which take 15 ms more.
        (0.03, 0.0, 0.045, 5),
        (0.005, 0.0, 0.025, 5),
    ],
)
def test_a_scalable_window_keeps_prague_s_response_function(
    rtt: float, waiting: float, reference: float, one_in: int
) -> None:
    """Of a window W, or what it sends in the reference round trip, a cut takes p/2, and comes when W packets and those
    before the next mark, 1/p, have added g / W each, g = 1 - p: with x = p W, x² / 2 = g (x + 1).
    """
    window = EmulatedWindow(10, 65_536)
    now, total, packets, rng = 0.0, 0.0, 40_000, random.Random(1)
    for number in range(packets):
        marked = rng.random() < 1 / one_in
        window.arrived(Arrival(now, int(now * 1e6), rtt, rtt, rtt / 2, waiting, marked), inf)
        now += rtt / window.cwnd
        total += window.cwnd if number >= packets / 2 else 0
    p = 1 / one_in
    g = 1 - p
    expected = (g + (g * g + 2 * g) ** 0.5) / p * rtt / reference
    assert total / (packets / 2) == pytest.approx(expected, rel=0.15)


def test_it_grows_by_unmarked_packets_in_the_round_trip_of_a_mark() -> None:
    path = Path(100)
    path.waiting = 0.001
    path.window.slow_start = False
    path.come(1, marked=True)
    assert path.window.cwnd == 50
    path.come(25)
    assert path.window.cwnd == pytest.approx(50.5, abs=0.01)
    path.come(25, marked=True)
    assert path.window.cwnd == pytest.approx(50.5, abs=0.01)


def test_marks_of_a_long_queue_are_losses() -> None:
    path = Path(100)
    path.window.slow_start = False
    path.waiting = 0.02
    path.come(50)
    before = path.window.cwnd
    path.come(1, marked=True)
    assert not path.window.scalable
    assert path.window.cwnd == pytest.approx(BETA * before, rel=0.01)


def test_a_long_queue_that_marks_most_packets_is_an_l4s_one() -> None:
    """Where packets take more than the millisecond from which on such a queue marks, two or three make it long."""
    path = Path(400)
    path.window.slow_start = False
    path.come(1, marked=True)  # half, for nothing is known of marks yet
    path.now += 2 * RTT
    path.waiting = 0.002
    path.come(20, marked=True)
    before = path.window.cwnd
    path.now += 2 * RTT
    path.waiting = 0.02
    path.come(30, marked=True)
    assert path.window.scalable
    assert before > path.window.cwnd > 0.9 * before


def test_beside_a_bbr_a_loss_takes_an_eighth_of_what_it_takes_elsewhere() -> None:
    path = Path(100)
    path.window.slow_start = False
    seen(probes(10.25), 30.0, path.window._drains)
    path.now = 32.0
    assert path.lose(0.02)
    assert path.window.cwnd == pytest.approx(100 * (1 - (1 - BETA) / 8))
    path.come(10)  # in the round trip of the cut
    assert path.window.cwnd > 100 * (1 - (1 - BETA) / 8)


def test_losses_without_a_queue_leave_the_mean() -> None:
    path = Path(100)
    path.window.slow_start = False
    for _ in range(10):
        path.round()
    before = path.window.cwnd
    for _ in range(3):
        path.now += 2 * RTT
        path.lose(longest_wait=0.05)
    assert path.window.cwnd < 40
    assert path.window.level.epochs == 3
    assert path.window.level.mean == pytest.approx((1 + BETA + BETA**2) / 3 * before, rel=0.05)
    assert path.window.standing == path.window.level.mean
    path.waiting = 0.05
    path.now += 2 * RTT
    path.lose(longest_wait=0.05)
    assert path.window.standing == path.window.cwnd
    assert path.window.level.epochs == 0


def test_who_begins_to_limit_the_rate_goes_by_its_mean() -> None:
    path = Path(100)
    path.window.slow_start = False
    for _ in range(3):
        path.round()
    path.lose(longest_wait=0.05)
    assert path.window.cwnd == pytest.approx(70, rel=0.05)
    path.window.begin(90)
    assert path.window.cwnd == pytest.approx(90)
