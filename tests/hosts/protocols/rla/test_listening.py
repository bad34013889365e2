import math
import random
from typing import Any

import pytest

from hosts.parts.rounds import Rounds
from hosts.protocols.rla.listening import RandomListening
from hosts.protocols.rla.options import RlaOptions


def listening(seed: int = 1, receivers: int = 1, **options: Any) -> RandomListening:
    made = RandomListening(RlaOptions(**options), random.Random(seed), 512)
    for number in range(receivers):
        made.troubled.add(number, 0.0)
    return made


def test_slow_start_doubles_and_congestion_avoidance_adds_one_a_window() -> None:
    window = listening(rules="paper")
    for expected in (2, 4, 8):
        window.acknowledged_by_all(int(window.cwnd), 0, 0.1, 0.0)
        assert window.cwnd == expected
    window.ssthresh = 8.0
    window.acknowledged_by_all(8, 0, 0.1, 0.0)
    assert window.cwnd == pytest.approx(9, abs=0.1)


def test_a_window_that_is_not_used_does_not_grow() -> None:
    window = listening(initial_cwnd=10)
    window.acknowledged_by_all(4, 4, 0.1, 0.0)
    assert window.cwnd == 10
    window.acknowledged_by_all(4, 5, 0.1, 0.0)
    assert window.cwnd == 14


def test_a_window_does_not_grow_before_what_a_cut_let_go_is_with_all() -> None:
    """Else answers that wait for three round trips let it grow for four between two cuts, and a TCP grows for one."""
    window = listening()
    window.cwnd = window.ssthresh = 10.0
    window.congestion(0, 0.1, 0.1, 0.5, 1.0)
    window.acknowledged_by_all(7, 7, 0.1, 1.2, 0.9)
    assert window.cwnd == 7.0
    window.acknowledged_by_all(7, 7, 0.1, 1.3, 1.1)
    assert window.cwnd > 7.0


def test_after_a_cut_the_window_comes_back_as_cubics() -> None:
    """100 packets, 0.1 s: after K = (30 / 0.4)^(1/3) = 4.2 s it is where it was (RFC 9438, 4.2); by one packet a round
    trip it would take 5 s from a half."""
    window = listening()
    window.cwnd = window.ssthresh = 100.0
    window.congestion(0, 0.1, 0.1, 0.5, 0.5)
    assert window.cwnd == 70.0
    at = 0.5
    while at < 4.6:
        at += 0.1
        packets = int(window.cwnd)
        window.acknowledged_by_all(packets, packets, 0.1, at)
    assert window.cwnd == pytest.approx(100, abs=2)


@pytest.mark.parametrize(("rules", "left"), [("tcp", 22.4), ("paper", 16.0)])
def test_the_only_troubled_receiver_is_always_listened_to(rules: str, left: float) -> None:
    window = listening(rules=rules)
    window.cwnd = 32.0
    assert window.congestion(0, 0.1, 0.1, 0.5, 0.5) is not None
    assert window.cwnd == pytest.approx(left)
    assert window.ssthresh == pytest.approx(left)


def test_a_signal_of_n_troubled_receivers_cuts_with_probability_one_in_n() -> None:
    window = listening(receivers=9, rules="paper")
    now = 0.0
    cuts = signals = 0
    for _ in range(400):
        for number in range(9):
            now += 0.01
            window.cwnd = window.awnd = 1e6  # no forced cuts
            signals += 1
            cuts += window.congestion(number, 0.1, 0.1, now, now) is not None
    assert window.troubled.count == 9
    assert cuts / signals == pytest.approx(1 / 9, rel=0.15)
    assert window.signals == signals


def cuts_of_events(rules: str, losers: int, events: int = 300) -> list[int]:
    """How often each of these events cuts, of each of which so many of eight troubled receivers tell, in any order."""
    window = listening(receivers=8, rules=rules)
    order = random.Random(2)
    cuts = []
    for event in range(events):
        sent_at = 1.0 + event
        window.cwnd = window.awnd = 1e6  # no forced cuts
        told: list[str | None] = []
        for place, number in enumerate(order.sample(range(8), 8)):
            now = sent_at + 0.1 + 0.01 * place
            lost = (number + event) % 8 < losers
            if lost:
                told.append(window.congestion(number, 0.1, 0.1, sent_at, now))
            if rules == "tcp":
                told.append(window.heard(number, 0.1, 0.1, sent_at, sent_at if lost else 0.0, now))
        cuts.append(sum(cut is not None for cut in told))
    return cuts[50:]


def test_what_all_lose_cuts_once_and_by_the_papers_rules_as_chance_has_it() -> None:
    assert set(cuts_of_events("tcp", 8)) == {1}
    cuts = cuts_of_events("paper", 8)
    assert cuts.count(0) / len(cuts) == pytest.approx((7 / 8) ** 8, abs=0.1)


@pytest.mark.parametrize("losers", [1, 4])
def test_what_some_lose_cuts_as_often_as_they_are_many(losers: int) -> None:
    cuts = cuts_of_events("tcp", losers)
    assert max(cuts) == 1
    assert sum(cuts) / len(cuts) == pytest.approx(losers / 8, abs=0.06)


def test_of_n_signals_in_a_row_one_cuts() -> None:
    """Draws would leave ten of eight receivers' signals without a cut in a quarter of all cases, for seconds in which
    CUBIC's window grows."""
    window = listening(receivers=8)
    for number in range(8):
        window.troubled.signal(number, 0.5)
    cuts = []
    for step in range(80):
        window.cwnd = window.awnd = 1e6  # no forced cuts
        at = 1.0 + 0.1 * step
        cuts.append(window.congestion(step % 8, 0.1, 0.1, at, at) is not None)
    gaps = [cuts[first : first + 9].count(True) for first in range(len(cuts) - 9)]
    assert min(gaps) == 1
    assert max(gaps) <= 2


def test_while_signals_are_not_heeded_the_window_grows_no_faster_than_renos() -> None:
    """Seconds after the last cut CUBIC's would grow by several packets a round trip."""
    grown = []
    for is_troubled in (False, True):
        window = listening(seed=2, receivers=8)
        for number in range(8):
            window.troubled.signal(number, 0.5)
        window.cwnd = window.ssthresh = window.awnd = 50.0
        for step in range(1, 80):
            window.acknowledged_by_all(int(window.cwnd), window.cwnd, 0.1, 0.1 * step)
            if step == 50:
                before = window.cwnd
                if is_troubled:
                    assert window.congestion(0, 0.1, 0.1, 5.0, 5.0) is None
                    window.goes_on(0, 8.0)
        grown.append(window.cwnd - before)
    assert grown[0] > 100
    assert grown[1] == pytest.approx(29, abs=2), "a packet a round trip"


def test_a_common_loss_cuts_when_few_have_told_of_it() -> None:
    """Of 40 receivers that all have lost the same, five are enough to know."""
    window = listening(receivers=40)
    for number in range(40):
        window.troubled.signal(number, 0.5)
    window.cwnd = window.awnd = 1e6
    cuts = []
    for number in range(5):
        cuts.append(window.congestion(number, 0.1, 0.1, 1.0, 1.1))
        cuts.append(window.heard(number, 0.1, 0.1, 1.0, 1.0, 1.1))
    assert cuts.count("randomized") == 1


def test_what_is_lost_of_packets_sent_after_a_cut_is_another_event() -> None:
    window = listening()
    window.cwnd = 100.0
    assert window.congestion(0, 0.1, 0.1, 0.4, 0.5) is not None
    assert window.congestion(0, 0.1, 0.1, 0.5, 0.8) is None
    assert window.congestion(0, 0.1, 0.1, 0.6, 0.9) is not None


def test_a_cut_is_forced_when_the_last_lies_two_average_windows_back() -> None:
    window = listening(receivers=27)
    window.cwnd = window.awnd = 10.0
    for number in range(27):  # all troubled
        window.troubled.signal(number, 0.5)
    assert window.congestion(3, 0.01, 0.1, 2.1, 2.1) == "forced"
    assert window.forced_cuts == 1
    assert window.last_window_cut == 2.1


def test_a_forced_cut_waits_for_round_trips_of_the_farthest_receiver() -> None:
    """Section 4: RLA's round trip time is the largest. A near receiver's signals force no cut before."""
    window = listening(receivers=27)
    for number in range(27):
        window.troubled.signal(number, 0.5)
    forced = 0
    for step in range(1, 20):
        window.cwnd = window.awnd = 10.0
        forced += window.congestion(3, 0.001, 0.1, 0.1 * step, 0.1 * step) == "forced"
    assert forced == 0


def test_a_rare_loss_is_skipped_even_when_a_cut_is_due() -> None:
    window = listening(receivers=2)
    for step in range(1, 100):
        window.troubled.signal(0, step * 0.1)
    window.cwnd = 20.0
    assert window.congestion(1, 0.1, 0.1, 10.0, 10.0) is None
    assert window.rare == 1
    assert window.cwnd == 20.0


def test_a_near_receiver_is_listened_to_less() -> None:
    window = listening(receivers=2)
    for number in range(2):
        window.troubled.signal(number, 1.0)
    assert window.pthresh(0.2, 0.2) == 0.5
    assert window.pthresh(0.1, 0.2) == 0.125
    assert listening(rtt_exponent=0.0).pthresh(0.1, 0.2) == 1.0


def test_a_timeout_starts_again_from_one_packet() -> None:
    window = listening(rules="paper")
    window.cwnd = 40.0
    window.timeout(1.0)
    assert (window.cwnd, window.ssthresh) == (1.0, 20.0)


@pytest.mark.parametrize(("n", "p"), [(1, 0.01), (2, 0.01), (9, 0.02), (27, 0.01)])
def test_the_window_stays_within_the_bounds_of_the_proposition(n: int, p: float) -> None:
    """Eq. (2): sqrt(2 (1 - p) / p) < W < sqrt(n) times that, here for packets lost independently at every receiver, one
    packet after the other as in the proof."""
    rng = random.Random(n)
    window = RandomListening(RlaOptions(rules="paper"), random.Random(7), 1e9)
    for number in range(n):
        window.troubled.add(number, 0.0)
    window.ssthresh = window.cwnd = math.sqrt(2 / p)
    now, rtt, total, steps = 0.0, 0.1, 0.0, 60_000
    for _ in range(steps):
        now += rtt / window.cwnd
        cut = False
        for number in range(n):
            if rng.random() < p:
                window.last_window_cut = now  # the proof has no forced cuts
                cut |= window.congestion(number, rtt, rtt, now, now) is not None
        if not cut:
            window.acknowledged_by_all(1, window.cwnd, 0.1, 0.0)
        total += window.cwnd
    low = math.sqrt(2 * (1 - p) / p)
    assert 0.9 * low < total / steps < math.sqrt(n) * low * 1.1


def grow(window: RandomListening, rtts: list[float]) -> None:
    """A round trip of each length, with all receivers' answers, until slow start is over."""
    rounds, seq = Rounds(), 0
    for rtt in rtts:
        packets = int(window.cwnd)
        for index in range(packets):
            window.measured(0, rounds, rtt, seq + index, seq + packets + index)
            window.acknowledged_by_all(1, window.cwnd, 0.1, 0.0)
        seq += packets


def test_slow_start_becomes_cautious_and_ends_when_round_trips_get_longer() -> None:
    window = listening(initial_cwnd=10)
    grow(window, [0.1, 0.1])
    assert window.cwnd == 40
    grow(window, [0.1, 0.12])
    assert 80 < window.cwnd < 110
    grow(window, [0.1] + [0.12 + 0.01 * index for index in range(10)])
    assert not window.is_slow_start
    before = window.cwnd
    grow(window, [0.2])
    assert window.cwnd < before + 2


@pytest.mark.parametrize(("rules", "rtts"), [("tcp", [0.1, 0.12, 0.1, 0.1]), ("paper", [0.1, 0.12, 0.14, 0.16])])
def test_slow_start_goes_on_after_a_burst_and_by_the_papers_rules(rules: str, rtts: list[float]) -> None:
    window = listening(initial_cwnd=10, rules=rules)
    grow(window, rtts)
    assert window.is_slow_start
    assert window.cwnd > 70
