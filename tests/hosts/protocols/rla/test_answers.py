import pytest

from hosts.protocols.rla.answers import EACH, MOST_OF_DATA, Answers, Unheard, wanted
from hosts.protocols.rla.packets import MAX_ACK_RATIO, WAIT_UNITS


def test_one_receiver_answers_each_packet() -> None:
    assert wanted(1, 10.0, 0.1, 1400) == EACH


def test_a_window_with_room_for_it_has_each_answer_one_packet_in_so_many() -> None:
    assert wanted(8, 32.0, 0.1, 1400) == (8, False)
    assert wanted(1000, 4000.0, 0.1, 1400) == (MAX_ACK_RATIO, False)


@pytest.mark.parametrize("receivers", [8, 20, 60])
def test_with_more_receivers_they_wait_so_long_that_they_say_little(receivers: int) -> None:
    """Answers have 150 bytes, packets 1,486: so many of them come in a round trip."""
    for cwnd in (5.0, 10.0, 20.0):
        answers = wanted(receivers, cwnd, 0.01, 1400)
        assert answers.waits
        assert receivers * 150 / (answers.rounds * cwnd * 1474) <= MOST_OF_DATA * 1.01
        assert answers.rounds >= 1 / 4


def test_where_so_short_a_time_cannot_be_waited_they_answer_by_number() -> None:
    """A quarter of 0.5 ms is no time for a program: the answers are as few without it."""
    ratio, waits = wanted(4, 10.0, 0.5e-3, 1400)
    assert not waits
    assert 4 * 150 / (ratio * 1474) <= MOST_OF_DATA
    assert wanted(4, 3.0, 0.5e-3, 1400).waits  # too few packets
    assert wanted(4, 10.0, 4.1e-3, 1400).waits


def test_no_window_is_so_small_that_they_wait_for_ever() -> None:
    """48 answers in a quarter of 1 Mbit/s take 0.23 s."""
    assert wanted(48, 1.0, 1.0, 1400).rounds == pytest.approx(0.23, abs=1 / WAIT_UNITS)
    assert wanted(48, 1.0, 0.0, 1400).ratio == MAX_ACK_RATIO


def test_what_nobody_has_answered_yet_is_not_in_flight_but_a_window_beyond_the_first_is() -> None:
    unheard = Unheard()
    unheard.has(19)
    assert unheard.window_end(9, 10.0) == 19  # all are to have told
    unheard.sent(Answers(WAIT_UNITS, True), 10.0, 0.05, 1.0)
    assert unheard.window_end(9, 10.0) == 29
    assert unheard.window_end(5, 10.0) == 25
    unheard.has(12)
    assert unheard.window_end(14, 10.0) == 29


def test_answers_that_usually_come_late_because_some_are_lost_are_waited_for() -> None:
    unheard = Unheard()
    unheard.has(99)
    unheard.sent(Answers(WAIT_UNITS, True), 10.0, 0.05, 1.0)
    assert unheard.window_end(49, 10.0) == 69
    unheard.late(0.2, 0.05)  # four round trips
    assert unheard.window_end(49, 10.0) == 99
    assert unheard.window_end(69, 10.0) == 109, "never more than a window beyond what somebody has"


def test_a_windows_packets_leave_evenly_while_answers_wait() -> None:
    unheard = Unheard()
    now = 1.0
    for _ in range(100):
        unheard.sent(wanted(20, 10.0, 0.05, 1400), 10.0, 0.05, now)
        now = max(now, unheard.paced_until)
    assert now - 1.0 == pytest.approx(100 * 0.05 / 12, rel=0.03)
