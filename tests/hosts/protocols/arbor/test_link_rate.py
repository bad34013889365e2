"""What is believed of a link by what its switch tells of it."""

import pytest

from hosts.protocols.arbor.link_rate import SAMPLES, LinkRate
from hosts.protocols.arbor.packets import ToldData

SIZE = 1514


class Way:
    """Packets that come as fast as a link sends them that is as fast as its switch says, or another one."""

    def __init__(self) -> None:
        self.rate = LinkRate()
        self.now = 0.0

    def come(
        self, packets: int, takes_us: int, *, at: int = 1, told_us: int | None = None, size: int = SIZE
    ) -> list[float]:
        """What became of the rate each time that it was another."""
        found = []
        for _ in range(packets):
            self.now += takes_us * 1e-6
            told = takes_us if told_us is None else told_us
            packet = ToldData(1, 0, 0, 0, 0, 0, 0, 0, 1, b"", 5000, 5000, told, size, at, 2)
            found.append(self.rate.add(packet, SIZE, self.now))
        return [left for left in found if left != 1]


def test_half_a_rate_is_known_within_some_packets_and_told_once() -> None:
    way = Way()
    assert way.come(50, 600) == []
    assert way.come(SAMPLES // 2 + 1, 1200) == [pytest.approx(0.5)]
    assert way.come(200, 1200) == []


def test_small_changes_and_a_faster_link_are_nothing() -> None:
    way = Way()
    for takes_us in (600, 700, 620, 300, 310):
        assert way.come(60, takes_us) == []
    assert way.come(20, 620) == [pytest.approx(0.5, abs=0.02)]


def test_one_packet_that_is_late_is_nothing() -> None:
    way = Way()
    for _ in range(10):
        assert way.come(20, 600) + way.come(1, 5000) == []


def test_another_queue_is_not_compared() -> None:
    way = Way()
    assert way.come(50, 100, at=1) + way.come(50, 1200, at=2) == []


def test_what_is_not_told_or_says_little_is_nothing() -> None:
    way = Way()
    assert way.come(50, 600) + way.come(50, 1200, told_us=0) + way.come(50, 1200, size=66) == []


def test_a_link_that_is_said_to_be_slower_than_what_comes_is_not_believed() -> None:
    way = Way()
    assert way.come(50, 600) + way.come(50, 600, told_us=1200) == []
