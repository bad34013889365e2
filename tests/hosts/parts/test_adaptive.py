"""The window that is Vegas' alone and CUBIC's beside others, over a model of a link."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.adaptive import LOSSY_SHARE, RESTART_CWND, SHORT_QUEUE_CUT, AdaptiveWindow
from hosts.parts.cubic import BETA
from hosts.parts.vegas import LEAST_CWND, VegasOptions

OPTIONS = VegasOptions(alpha=2, beta=4, gamma=2)
RATE = 800.0
"""Packets/s of the link."""
RTT_S = 0.05
"""Without a queue: it holds 40 packets."""


class Path:
    """A link's queue, and somebody who keeps `others` packets in it."""

    def __init__(self, window: AdaptiveWindow, base_s: float = RTT_S) -> None:
        self.window = window
        self.base_s = base_s
        self.least_s = base_s
        self.others = 0.0
        self.rate = RATE
        self.longest = 0.0  # queue, in packets
        self.losses = 0
        self.now = 0.0
        self.shares: list[float] = []

    def run(self, seconds: float, limit: float = 1e9) -> None:
        """Round trips in which everything is acknowledged, but what a queue of `limit` packets does not hold."""
        window = self.window
        until = self.now + seconds
        while self.now < until:
            queue = max(0.0, window.cwnd + self.others - self.rate * self.base_s)
            self.longest = max(self.longest, queue)
            wait = queue / self.rate
            rtt = self.base_s + wait
            rate = min(window.cwnd / rtt, self.rate)
            self.now += rtt
            seen = self.base_s - self.least_s + wait
            window.waits(seen)
            window.acknowledged(int(window.cwnd), rtt, self.now)
            if queue > limit:
                self.losses += window.lost(seen)
            window.round_trip_ended(seen, rate, rtt, True, self.now)
            self.shares.append(rate / self.rate)


def settled(base_s: float = RTT_S, lossy_share: float = LOSSY_SHARE) -> Path:
    path = Path(AdaptiveWindow(OPTIONS, 512, lossy_share=lossy_share), base_s)
    path.run(10)
    return path


def test_alone_it_fills_the_path_and_hardly_more() -> None:
    path = settled()
    path.shares.clear()
    path.run(20)
    assert sum(path.shares) / len(path.shares) > 0.98
    assert path.window.cwnd < 40 + 8
    assert not path.window.beside_others


def test_slow_start_ends_by_delay() -> None:
    window = AdaptiveWindow(OPTIONS, 512)
    path = Path(window)
    while window.slow_start:
        path.run(0.01)
    assert 20 <= window.cwnd <= 60
    assert path.now < 0.6


def large(cwnd: float) -> Path:
    """1 Gbit/s and 20 ms, which hold 1,600 packets, and a window of which slow start was left too early."""
    path = Path(AdaptiveWindow(OPTIONS, 65_536), 0.02)
    path.rate = 80_000.0
    path.window.continue_from(cwnd)
    return path


@pytest.mark.parametrize("cwnd", [60, 400, 900])
def test_what_nothing_waits_on_is_filled_soon(cwnd: float) -> None:
    path = large(cwnd)
    path.run(0.8)  # forty round trips, in which CUBIC would have grown by as many packets
    path.shares.clear()
    path.run(2.0)
    assert sum(path.shares) / len(path.shares) > 0.97
    assert path.longest < 1600 / 4


def test_what_a_short_queue_lost_is_not_run_into_again_at_once() -> None:
    path = large(900)
    path.run(10, limit=40)  # less than what counts as few
    path.shares.clear()
    losses = path.losses
    path.run(10, limit=40)
    assert sum(path.shares) / len(path.shares) > 0.9
    assert path.losses - losses < 10


def test_beside_somebody_who_fills_the_queue_it_grows_and_alone_again_it_drains() -> None:
    path = settled()
    path.others = 60.0
    path.run(1.0)
    assert path.window.beside_others
    before = path.window.cwnd
    path.run(5.0)
    assert path.window.cwnd > before + 20
    path.others = 0.0
    path.run(20)
    assert not path.window.beside_others
    assert path.window.cwnd < 40 + 8


def test_what_is_taken_for_company_still_uses_the_link() -> None:
    """A path that has become longer: its least delay is not known yet."""
    path = settled()
    path.base_s = 2 * RTT_S
    path.shares.clear()
    path.run(10, limit=40)
    assert sum(path.shares) / len(path.shares) > 0.8


def test_losses() -> None:
    window = settled().window
    window.continue_from(40)
    window.lost(0.5)
    assert window.cwnd == pytest.approx(40 * BETA)
    window.continue_from(40)
    window.lost(0.0)
    assert window.cwnd == pytest.approx(40 * SHORT_QUEUE_CUT)
    slow = AdaptiveWindow(OPTIONS, 512)
    slow.acknowledged(39, RTT_S, 0.0)
    slow.lost(0.5)
    assert slow.cwnd == 20
    assert not slow.slow_start


def test_few_losses_without_a_queue_are_no_congestion_when_alone() -> None:
    window = settled(lossy_share=100.0).window
    before = window.cwnd
    assert before > 40
    assert not window.lost(0.0, 0.01)
    assert window.cwnd == before
    assert window.lost(0.0, 0.03), "too many"
    assert window.lost(0.5, 0.01), "a queue"
    window.beside_others = True
    assert window.lost(0.0, 0.01), "not alone"


@pytest.mark.parametrize(("share", "tcp"), [(0.01, 12.0), (0.001, 39.0)])
def test_losses_that_no_queue_explains_leave_half_more_than_a_tcp_has(share: float, tcp: float) -> None:
    """Padhye's window, or CUBIC's where that is above it; nobody knows whether a TCP is there that loses as much."""
    window = settled().window
    window.continue_from(1.4 * tcp)
    assert not window.lost(0.0, share)
    window.continue_from(1.7 * tcp)
    assert window.lost(0.0, share)
    assert window.cwnd == pytest.approx(1.7 * tcp * SHORT_QUEUE_CUT)
    window.continue_from(1000.0)
    assert not window.lost(0.0, 0.0), "nothing has been lost"


def test_what_a_tcp_has_on_a_nearer_way_is_as_much_more_of_the_window() -> None:
    """The window is of the longest round trip: at the rate of a TCP that is four times as near it is four times as
    large.
    """
    window = settled().window
    window.continue_from(4 * 1.4 * 12.0)
    assert not window.lost(0.0, 0.01, RTT_S / 4)
    assert window.lost(0.0, 0.01)
    window.continue_from(4 * 1.7 * 12.0)
    assert window.lost(0.0, 0.01, RTT_S / 4)


def test_the_first_slow_start_bears_few_losses() -> None:
    """It has sent too few packets to tell their share, which a single loss makes large."""
    window = AdaptiveWindow(OPTIONS, 512)
    window.round_trip_ended(0.0, 20.0, RTT_S, True, RTT_S)
    window.acknowledged(100, RTT_S, RTT_S)
    assert not window.lost(0.0, 0.01)
    assert window.is_first_slow_start


def test_one_lost_flight_does_not_make_ssthresh_collapse() -> None:
    window = AdaptiveWindow(OPTIONS, 512)
    window.continue_from(40)
    for _ in range(10):  # what was sent after a timeout times out, too
        window.timed_out()
        window.acknowledged(1, RTT_S, 0.0)
    assert window.ssthresh == pytest.approx(40 * BETA)
    window.acknowledged(8, RTT_S, 0.0)
    window.round_trip_ended(0.0, 100.0, RTT_S, True, 1.0)
    window.timed_out()  # it has gone well meanwhile: another loss
    assert window.ssthresh == pytest.approx(40 * BETA / 2)


def test_a_window_that_is_not_used_does_not_grow() -> None:
    window = AdaptiveWindow(OPTIONS, 512)
    window.continue_from(20)
    for step in range(20):
        window.acknowledged(20, RTT_S, step * RTT_S)
        window.round_trip_ended(0.0, 400.0, RTT_S, False, step * RTT_S)
    assert window.cwnd <= 24


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("acknowledged"), st.integers(0, 600)),
            st.tuples(st.just("round"), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1e5), st.booleans()),
            st.tuples(st.just("timeout"), st.booleans()),
            st.tuples(st.just("lost"), st.floats(0, 1)),
            st.tuples(st.just("cut")),
            st.tuples(st.just("from"), st.floats(0, 1e3)),
        ),
        max_size=200,
    )
)
def test_bounds(steps: list[tuple[object, ...]]) -> None:
    window = AdaptiveWindow(OPTIONS, 64)
    now = 0.0
    for step in steps:
        now += 0.1
        match step:
            case ("acknowledged", int(packets)):
                window.acknowledged(packets, 0.1, now)
            case ("round", float(waiting), float(base), float(rate), bool(used)):
                window.waits(waiting)
                window.round_trip_ended(waiting, rate, base + waiting, used, now)
            case ("timeout", bool(again)):
                window.timed_out(again)
            case ("lost", float(waiting)):
                window.lost(waiting)
            case ("from", float(cwnd)):
                window.continue_from(cwnd)
            case _:
                window.cut()
        assert 1 <= window.cwnd <= 64
        assert window.ssthresh >= LEAST_CWND


def test_a_timeout_that_said_nothing_is_forgiven() -> None:
    """Slow start leads back to the window before it; without a timeout there is nothing to forgive."""
    window = AdaptiveWindow(OPTIONS, 512)
    window.continue_from(60)
    window.forgive()
    assert (window.cwnd, window.ssthresh) == (60, 60)
    window.timed_out()
    window.timed_out(again=True)
    window.forgive()
    assert window.slow_start
    assert (window.cwnd, window.ssthresh) == (RESTART_CWND, 60)


def test_a_large_window_gives_back_soon_what_is_too_much() -> None:
    """A path of 0.5 s holds 400 packets: one packet less in each round trip would be taken for others' queue."""
    path = settled(0.5)
    path.run(100)
    window = path.window
    window.continue_from(480)
    path.run(6 * 0.6)
    assert 400 <= window.cwnd < 445
    path.run(60)
    assert not window.beside_others
    assert window.cwnd < 445


def test_what_gave_way_to_others_is_there_again_when_they_are_known() -> None:
    path = settled()
    path.run(30)
    before = path.window.cwnd
    path.others = 60.0
    while not path.window.beside_others:
        path.run(RTT_S)
    assert path.window.cwnd >= before - 2


def test_slow_start_after_a_timeout_leads_back_whatever_waits_still() -> None:
    """The queue is that of the window before, which was too large for a link that has become slower."""
    window = settled().window
    window.timed_out()
    known = window.ssthresh
    window.round_trip_ended(0.3, RATE, RTT_S + 0.3, True, 10.2)
    window.waits(0.3)
    assert window.slow_start
    assert window.ssthresh == known


def test_a_few_packets_are_as_many_when_the_link_has_become_slower() -> None:
    """They wait for five times as long, which was a long queue for the rate before."""
    path = settled()
    path.rate = RATE / 5
    path.run(8)
    waiting = path.window.cwnd - path.rate * RTT_S
    assert OPTIONS.alpha <= waiting <= OPTIONS.beta + 1
    assert not path.window.beside_others
