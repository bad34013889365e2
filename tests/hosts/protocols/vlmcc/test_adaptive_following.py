"""A follower by the default rules, packet by packet: it comes to the sender's window, and to its own judgement."""

import pytest

from hosts.protocols.vlmcc.adaptive_following import UNUSED, AdaptiveFollowing
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import FLAG_BESIDE_OTHERS, FLAG_DRAINING, FLAG_SLOW_START

BASE = 0.1


class Watch:
    """A follower of a sender with a base rtt of 100 ms; packets come at the sender's rate."""

    def __init__(self, rate: float = 200.0) -> None:
        self.following = AdaptiveFollowing(VlmccOptions())
        self.following.begin(rate * BASE)
        self.rate = rate
        self.now = 1000.0
        self.challenges: list[float] = []

    def run(self, seconds: float, rtt: float = BASE, flags: int = 0, *, leads: bool = False) -> AdaptiveFollowing:
        end = self.now + seconds
        while self.now < end:
            self.now += 1 / self.rate
            if (
                self.following.arrived(self.now, rtt, BASE, self.rate, flags, leads=leads)
                and self.following.should_lead
            ):
                self.challenges.append(self.now)
        return self.following


def test_without_a_queue_it_grows_to_twice_what_the_sender_uses() -> None:
    watch = Watch()
    following = watch.run(60)
    assert following.window.cwnd == pytest.approx(UNUSED * 200 * BASE, rel=0.1)
    assert not watch.challenges


def test_a_queue_takes_it_to_what_the_sender_uses_and_below() -> None:
    watch = Watch()
    watch.run(60)
    following = watch.run(1.5, rtt=0.2)
    assert following.window.cwnd <= 200 * 0.2
    watch.run(3, rtt=0.2)
    assert watch.challenges


def test_losses_one_after_another_make_it_challenge_and_a_single_one_does_not() -> None:
    watch = Watch()
    watch.run(60)
    watch.following.lost(watch.now)
    watch.run(1)
    assert not watch.challenges
    for _ in range(12):
        watch.following.lost(watch.now)
        watch.run(0.12)
    assert watch.challenges


def test_a_drain_that_empties_its_queue_says_that_it_is_alone_and_one_that_does_not_that_it_is_not() -> None:
    watch = Watch()
    watch.run(1, 0.2)
    watch.run(0.3, 0.2, FLAG_DRAINING)
    following = watch.run(0.5, 0.2)
    assert following.beside_others
    watch.run(0.1, 0.2, FLAG_DRAINING)
    watch.run(0.3, BASE, FLAG_DRAINING)
    following = watch.run(0.5, 0.2)
    assert not following.beside_others


def test_before_it_has_seen_a_drain_it_believes_the_sender() -> None:
    watch = Watch()
    following = watch.run(2, 0.2, FLAG_BESIDE_OTHERS)
    assert following.beside_others
    assert not watch.challenges


def test_a_drain_is_no_reason_to_challenge() -> None:
    watch = Watch()
    watch.run(2, 0.15, FLAG_DRAINING)
    assert not watch.challenges


def test_its_own_queue_ends_its_slow_start() -> None:
    watch = Watch(rate=20.0)
    for rate in (20.0, 40.0, 80.0, 160.0):
        watch.rate = rate
        watch.run(BASE, flags=FLAG_SLOW_START)
    assert not watch.challenges
    watch.rate = 320.0
    watch.run(0.3, 0.15, FLAG_SLOW_START)
    assert watch.following.window.cwnd <= 320 * 0.15
    watch.rate = 640.0
    watch.run(0.5, 0.25, FLAG_SLOW_START)
    assert watch.challenges


def test_the_leaders_window_is_the_senders() -> None:
    watch = Watch()
    following = watch.run(5, 0.2, leads=True)
    assert following.window.cwnd == pytest.approx(200 * 0.2, rel=0.05)
    assert not watch.challenges


def test_marks_and_heavy_losses_tell_it_of_others_and_few_losses_do_not() -> None:
    for every_s, is_marked, present in ((2.0, False, False), (0.15, False, True), (2.0, True, True)):
        watch = Watch()
        watch.run(5)
        watch.run(0.2, flags=FLAG_DRAINING)
        for _ in range(8):
            watch.run(every_s)
            watch.following.lost(watch.now, is_marked=is_marked)
        assert watch.following.beside_others is present
