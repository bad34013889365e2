from hosts.endpoint import Address
from hosts.protocols.rla.branch import Branch


def branch() -> Branch:
    made = Branch(0, Address("10.0.0.2", 40000), 0, 0.2, 0.0)
    made.rtt.add(0.1)
    return made


def sack(*above: int) -> int:
    """Bits for packets given as distances from the one after the first missing."""
    return sum(1 << index for index in above)


def test_a_packet_is_lost_when_one_three_higher_has_arrived() -> None:
    made = branch()
    made.cumulative = 10
    assert made.find_losses(sack(0)) == []  # has 11
    assert made.find_losses(sack(0, 1)) == []  # has 11, 12
    assert made.find_losses(sack(0, 1, 2)) == [10]  # has 13
    assert made.find_losses(sack(0, 1, 2, 3)) == [], "found only once"
    assert made.losses == 1


def test_each_hole_is_found_by_itself() -> None:
    made = branch()
    made.cumulative = 10
    assert made.find_losses(sack(1, 3, 4, 6, 7)) == [10, 11, 13]  # lacks 10, 11, 13, 16
    assert made.find_losses(sack(1, 3, 4, 6, 7, 8)) == [16]


def test_a_repeat_is_lost_when_what_was_sent_after_it_arrives() -> None:
    made = branch()
    made.cumulative = 10
    assert made.find_losses(sack(0, 1, 2)) == [10]
    made.repeated(10, 20)  # after 19
    assert made.find_losses(sack(*range(10))) == []  # up to 20
    assert made.find_losses(sack(*range(12))) == [10]  # up to 22
    assert made.retransmissions == 1


def test_losses_within_two_round_trips_are_one_signal() -> None:
    made = branch()
    assert made.congested(1.0)
    assert not made.congested(1.1)
    assert not made.congested(1.2)
    assert made.congested(1.21)
    assert made.signals == 2
