import pytest

from hosts.endpoint import Address
from hosts.protocols.rla.branch import Asked, Branch
from hosts.protocols.rla.packets import Ack


def branch() -> Branch:
    made = Branch(0, Address("10.0.0.2", 40000), 0, 0.2, 0.0)
    made.rtt.add(0.1)
    return made


def losses(made: Branch, *above: int, echo: float = 0.0) -> list[int]:
    """What an acknowledgment of these packets shows, which lie so far from the one after the first missing."""
    arrived = {made.cumulative + 1 + index for index in above}
    return made.find_losses(max(arrived), echo, lambda number, seq: seq < made.cumulative or seq in arrived)


def test_a_packet_is_lost_when_one_three_higher_has_arrived() -> None:
    made = branch()
    made.cumulative = 10
    assert losses(made, 0) == []  # has 11
    assert losses(made, 0, 1) == []  # has 11, 12
    assert losses(made, 0, 1, 2) == [10]  # has 13
    assert losses(made, 0, 1, 2, 3) == [], "found only once"
    assert made.losses == 1


def test_each_hole_is_found_by_itself() -> None:
    made = branch()
    made.cumulative = 10
    assert losses(made, 1, 3, 4, 6, 7) == [10, 11, 13]  # lacks 10, 11, 13, 16
    assert losses(made, 1, 3, 4, 6, 7, 8) == [16]


def test_a_repeat_is_lost_when_what_was_sent_after_it_is_answered() -> None:
    """The round trip time is 0.1 s, of which a quarter is for reordering."""
    made = branch()
    made.cumulative = 10
    assert losses(made, 0, 1, 2) == [10]
    made.repeated(10, 5.0)
    assert losses(made, *range(10), echo=5.024) == []
    assert losses(made, *range(10), echo=5.026) == [10]
    made.repeated(10, 6.0)
    assert losses(made, *range(10), echo=7.0) == [10], "of a repeat's repeat, too"
    assert made.retransmissions == 2


def test_losses_within_two_round_trips_are_one_signal() -> None:
    made = branch()
    assert made.congested(1.0)
    assert not made.congested(1.1)
    assert not made.congested(1.2)
    assert made.congested(1.21)
    assert made.signals == 2


@pytest.mark.parametrize(
    ("echo_s", "needless", "lost_at"),
    [
        (2.0, False, 1.0),  # it got the packet by the question, and had lacked it
        (2.0, True, None),  # it had it: what it said of it was lost
        (1.5, False, None),  # it said so before the question came
        (0.0, False, 1.0),
    ],
)
def test_the_answer_to_a_question_tells_what_had_been_lost(
    echo_s: float, needless: bool, lost_at: float | None
) -> None:
    made = branch()
    made.asked = Asked(seq=10, sent_at=1.0, at=2.0)
    ack = Ack(1, False, False, False, 11, 1000, int(echo_s * 1e6), 0, 0, 0, needless=needless)
    assert made.answers_that_it_lacked(ack, lambda _, seq: seq < 10) is None
    assert made.asked is not None, "it has not answered"
    assert made.answers_that_it_lacked(ack, lambda _, seq: seq < 11) == lost_at
    assert made.asked is None
