"""What the runtimes and the endpoints tell one another."""

import pytest

from hosts.endpoint import Address, Datagram, DatagramRun

HERE = Address("10.0.0.1", 1)


@pytest.mark.parametrize(("arrived_at", "expected"), [(None, 5.0), (4.5, 4.5), (0.0, 0.0)])
def test_a_datagram_came_when_it_is_handled_unless_it_is_known_better(
    arrived_at: float | None, expected: float
) -> None:
    datagram = Datagram(b"", Address("10.0.0.1", 1), Address("232.1.1.1", 2), arrived_at)
    assert datagram.came_at(5.0) == expected


def test_datagrams_of_a_run_came_with_their_message() -> None:
    """Not evenly: what came after a pause would look as if it had come within it."""
    run = DatagramRun(b"aabbccdde", 2, HERE, HERE, 1.0, 9.0, came=((0, 1.0), (3, 8.0), (4, 9.0)))
    assert [one.arrived_at for one in run.datagrams()] == [1.0, 1.0, 1.0, 8.0, 9.0]
    for count in range(1, run.packets):
        first, rest = run.split(count)
        assert [*first.datagrams(), *rest.datagrams()] == list(run.datagrams())
        assert (first.first_at, rest.arrived_at) == (1.0, 9.0)
    assert [one.arrived_at for one in run._replace(came=()).datagrams()] == [1.0, 3.0, 5.0, 7.0, 9.0]
