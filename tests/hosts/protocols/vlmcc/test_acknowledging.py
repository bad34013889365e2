"""Which packets before one arrived."""

from hosts.protocols.vlmcc.acknowledging import Arrivals


def test_the_lowest_bit_is_the_packet_before() -> None:
    arrivals = Arrivals()
    for seq in (5, 6, 8, 9):
        arrivals.arrived(seq)
    assert arrivals.before(9) == 0b1101
    assert arrivals.before(6) == 0b1


def test_a_late_packet_is_there_from_then_on() -> None:
    arrivals = Arrivals()
    for seq in (0, 1, 3, 2):
        arrivals.arrived(seq)
    assert arrivals.before(3) == 0b111


def test_it_remembers_no_more_than_it_has_to_tell() -> None:
    arrivals = Arrivals()
    for seq in range(1000):
        arrivals.arrived(seq)
    assert arrivals.before(999) == 2**32 - 1
    arrivals.arrived(10**9)
    assert arrivals.before(10**9) == 0
    arrivals.arrived(0)
    assert arrivals.before(10**9) == 0


def test_a_run_is_as_its_packets() -> None:
    one, other = Arrivals(), Arrivals()
    for arrivals in (one, other):
        arrivals.arrived(3)
    for seq in range(5, 45):
        one.arrived(seq)
    other.arrived_run(5, 40)
    assert one.before(44) == other.before(44)
    assert one.before(20) == other.before(20)
