"""What the runtimes and the endpoints tell one another."""

import pytest

from hosts.endpoint import Address, Datagram


@pytest.mark.parametrize(("arrived_at", "expected"), [(None, 5.0), (4.5, 4.5), (0.0, 0.0)])
def test_a_datagram_came_when_it_is_handled_unless_it_is_known_better(
    arrived_at: float | None, expected: float
) -> None:
    datagram = Datagram(b"", Address("10.0.0.1", 1), Address("232.1.1.1", 2), arrived_at)
    assert datagram.came_at(5.0) == expected
