"""By the paper's rules: a follower's window and its judgement of Eq. (6), packet by packet."""

import pytest

from hosts.parts.vegas import LEAST_CWND
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import FLAG_SLOW_START
from hosts.protocols.vlmcc.paper_following import PaperFollowing

OPTIONS = VlmccOptions(rules="paper", alpha=2, beta=4, gamma=2, n_extra=2)
BASE = 0.1


class Watch:
    """A follower of a sender with a base rtt of 100 ms; packets come at the sender's rate."""

    def __init__(self, rate: float = 100.0, options: VlmccOptions = OPTIONS) -> None:
        self.following = PaperFollowing(options)
        self.following.begin(rate * BASE)
        self.rate = rate
        self.now = 1000.0
        self.challenges: list[float] = []

    def run(
        self,
        seconds: float,
        rtt: float = BASE,
        *,
        rate: float | None = None,
        slow_start: bool = False,
        leads: bool = False,
    ) -> PaperFollowing:
        self.rate = self.rate if rate is None else rate
        end = self.now + seconds
        while self.now < end:
            self.now += 1 / self.rate
            flags = FLAG_SLOW_START if slow_start else 0
            ended = self.following.arrived(self.now, rtt, BASE, self.rate, flags, leads=leads)
            if ended and self.following.should_lead:
                self.challenges.append(self.now)
        return self.following


def test_a_follower_without_a_queue_keeps_a_little_more_than_the_senders_window() -> None:
    """Vegas' difference between alpha and beta is what the sender does not use of the follower's window."""
    watch = Watch()
    following = watch.run(10)
    assert 100 * BASE + OPTIONS.alpha <= following.window.cwnd <= 100 * BASE + OPTIONS.beta
    assert not watch.challenges
    following = watch.run(30, rate=400.0)  # and follows when the sender becomes faster by one packet a round trip
    assert following.window.cwnd == pytest.approx(400 * BASE + OPTIONS.alpha, abs=2)


def test_a_queue_shrinks_the_window_by_one_packet_a_round_trip_as_vegas_does() -> None:
    watch = Watch()
    before = watch.run(10).window.cwnd
    following = watch.run(0.9, rtt=0.2)
    # the mean follows the rtt in ten packets or so, then there are backlogs of half a window
    assert before - 6 <= following.window.cwnd <= before - 2
    following = watch.run(60, rtt=0.2)
    # Vegas stands still where W (1 - base / rtt) = beta.
    assert following.window.cwnd == pytest.approx(OPTIONS.beta * 2, abs=1.01)


def test_it_challenges_when_its_rate_falls_behind_by_more_than_n_extra() -> None:
    watch = Watch()
    watch.run(10)
    watch.run(10, rtt=BASE + 0.01)  # W = 12 or so for 0.11 s: still 100 packets/s and more
    assert not watch.challenges
    watch.run(5, rtt=0.2)  # 100 packets/s would need a window of 20; ours shrinks to 8
    assert watch.challenges
    following = watch.following
    assert following.is_worse
    assert following.rate == pytest.approx(40, rel=0.1)
    assert watch.challenges[0] < 1020.0 + 1.0


def test_a_sender_that_has_slowed_down_is_not_challenged_while_the_average_remembers() -> None:
    watch = Watch()
    watch.run(10)
    following = watch.run(3, rtt=0.2)
    assert following.is_worse
    before = following.difference
    watch.rate = following.rate
    following = watch.run(0.01, rtt=0.2)
    assert following.difference > 0.5 * before > OPTIONS.n_extra / 0.2
    assert not following.is_worse


def test_it_challenges_only_while_the_difference_grows() -> None:
    watch = Watch()
    watch.run(10)
    watch.run(30, rtt=0.2)
    seen = len(watch.challenges)
    assert seen
    last = watch.challenges[-1]
    # When the window stands still the average comes to rest, up to rounding.
    watch.run(60, rtt=0.2)
    assert watch.following.is_worse
    assert len(watch.challenges) - seen <= 60
    watch.run(3, rtt=0.15)  # better, though not good: the average falls
    assert not [time for time in watch.challenges if time > watch.now - 2.5]
    assert last < watch.now


def test_n_extra_is_the_price_of_stability() -> None:
    patient = Watch(options=VlmccOptions(rules="paper", alpha=2, beta=4, n_extra=30))
    patient.run(10)
    patient.run(20, rtt=0.2)
    assert not patient.challenges


def test_losses_halve_the_window_once_a_round_trip() -> None:
    watch = Watch()
    following = watch.run(10)
    before = following.window.cwnd
    assert following.lost(watch.now)
    assert not following.lost(watch.now + 0.05)
    assert following.window.cwnd == before / 2
    assert following.lost(watch.now + 0.11)
    assert following.window.cwnd == max(LEAST_CWND, before / 4)
    watch.run(1)
    assert watch.challenges  # the sender goes on as fast as before


def test_nothing_is_lost_before_there_is_an_rtt() -> None:
    assert not PaperFollowing(OPTIONS).lost(5.0)


def test_in_slow_start_it_grows_with_the_sender() -> None:
    watch = Watch(rate=20.0)
    for rate in (20.0, 40.0, 80.0, 160.0, 320.0):
        watch.run(2 * BASE, rate=rate, slow_start=True)
    assert watch.following.window.cwnd == pytest.approx(32, rel=0.1)
    assert not watch.challenges


def test_in_slow_start_its_own_queue_stops_it() -> None:
    watch = Watch(rate=20.0)
    for rate in (20.0, 40.0, 80.0):
        watch.run(2 * BASE, rate=rate, slow_start=True)
    for rate in (160.0, 320.0, 320.0, 320.0):
        watch.run(2 * BASE, rtt=0.2, rate=rate, slow_start=True)
    assert watch.following.window.cwnd < 0.2 * 320 / 2
    assert watch.challenges


def test_the_leaders_own_window_is_the_senders() -> None:
    watch = Watch()
    following = watch.run(10, rtt=0.2, leads=True)
    assert following.window.cwnd == pytest.approx(100 * 0.2, rel=0.01)
    assert following.difference == pytest.approx(0, abs=1)
    assert not watch.challenges


def test_a_late_one_with_a_longer_rtt_begins_with_what_the_senders_rate_needs() -> None:
    following = PaperFollowing(OPTIONS)
    following.begin(10)
    following.arrived(5.0, 0.5, 0.5, 100.0, 0, leads=False)
    assert following.window.cwnd == 50
    assert following.rate == 100
