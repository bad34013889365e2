"""Packets on their way, and bursts."""

import pytest

from hosts.protocols.vlmcc.transit import LATE_S, BurstPacer, Transit


def test_packets_are_lost_in_the_order_in_which_they_left() -> None:
    transit = Transit()
    assert transit.oldest_at is None
    for seq in range(5):
        transit.sent(seq, seq * 0.1)
    assert transit.acknowledged(1)
    assert not transit.acknowledged(1)
    assert transit.take_lost(0.99, 1.0) == []
    assert transit.take_lost(1.2, 1.0) == [0, 2]
    assert transit.oldest_at == pytest.approx(0.3)
    assert len(transit) == 2
    transit.clear()
    assert len(transit) == 0
    assert transit.take_lost(9.0, 1.0) == []


def test_eq_3_a_window_takes_at_least_half_a_round_trip() -> None:
    """Bursts of two, rtt / W apart: "a full window of packets can still be sent in just half the time of an RTT"."""
    pacer, now = BurstPacer(), 0.0
    sent: list[float] = []
    cwnd, rtt = 10, 0.2
    while len(sent) < cwnd:
        now = max(now, pacer.next_at)
        sent.append(now)
        pacer.sent(now, rtt / cwnd)
    assert sent == pytest.approx([0, 0, 0.02, 0.02, 0.04, 0.04, 0.06, 0.06, 0.08, 0.08])
    assert pacer.next_at == pytest.approx(rtt / 2)


def test_packets_that_acknowledgments_space_do_not_wait() -> None:
    """Seven in a row leave the bottleneck 8 ms apart, in a round trip of 130 ms: nobody else may take their places."""
    pacer, rtt, cwnd = BurstPacer(), 0.13, 7
    for number in range(cwnd):
        assert pacer.next_at <= number * 0.008
        pacer.sent(number * 0.008, rtt / cwnd)


def test_acknowledgments_all_at_once_do_not_send_a_window_at_once() -> None:
    """Whatever comes: in each delay two packets, after one burst at most."""
    pacer, rtt, cwnd, now = BurstPacer(), 0.2, 10, 0.0
    sent: list[float] = []
    for number in range(3 * cwnd):
        now = max(now, number * 1e-4, pacer.next_at)
        sent.append(now)
        pacer.sent(now, rtt / cwnd)
    for first, last in zip(sent, sent[cwnd:], strict=False):
        assert last - first > 0.4 * rtt
    assert sent[-1] > 1.4 * rtt


def test_what_was_due_while_the_host_was_late_leaves_together() -> None:
    """But of no more time than a timer may be late."""
    pacer, delay = BurstPacer(), 0.0005
    pacer.sent_run(1.0, delay)
    assert pacer.together(1.0 + delay / 2, delay) == 0
    assert pacer.together(1.0 + 2.5 * delay, delay) == 2 + 3
    assert pacer.together(9.0, delay) == 2 + 2 * LATE_S / delay
    pacer.sent_run(9.0, delay)
    assert pacer.next_at == 9.0 + delay
