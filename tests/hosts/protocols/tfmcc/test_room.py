"""What a path has room for, against RFC 9438's curve written once more."""

import pytest

from hosts.protocols.tfmcc.room import EPISODE_RTTS, FREE_ROUNDS, Room

RTT_S = 0.1
GAP_S = 0.01
BASE_S = -3.0
"""Two clocks need not agree."""


class Road:
    """Packets that come evenly, each after the same delay but for the queue."""

    def __init__(self) -> None:
        self.room = Room()
        self.packets = 0

    @property
    def now(self) -> float:
        return self.packets * GAP_S

    def run(self, seconds: float, queue_s: float = 0.0) -> float:
        """The window that there is room for then."""
        for _ in range(round(seconds / GAP_S)):
            self.packets += 1
            self.room.passed(self.now, BASE_S + queue_s, RTT_S, GAP_S / 10)
        return self.room.window(RTT_S)

    def lose(self, window: float) -> None:
        self.room.lost(self.now, window, RTT_S)


def cubic(seconds: float, before: float) -> float:
    """RFC 9438, Eqs. (1) and (2): the window so long after a loss."""
    plateau_s = (before * (1 - 0.7) / 0.4) ** (1 / 3)
    return float(0.4 * (seconds - plateau_s) ** 3 + before)


def test_nothing_is_known_before_a_loss_event_nor_at_once_after_one() -> None:
    road = Road()
    assert road.run(20.0) == 0.0
    road.lose(1000.0)
    assert road.room.window(RTT_S) == 0.0
    assert road.run((FREE_ROUNDS - 1) * RTT_S) == 0.0


@pytest.mark.parametrize("seconds", [2.0, 5.0, 8.0])
def test_without_a_queue_the_window_is_cubics(seconds: float) -> None:
    road = Road()
    road.run(1.0)
    road.lose(1000.0)
    road.run((FREE_ROUNDS + 1) * RTT_S)
    assert road.run(seconds) == pytest.approx(cubic(seconds, 1000.0), rel=0.02)


def test_beyond_what_was_there_it_grows_as_tcps_do_on_average() -> None:
    road = Road()
    road.lose(100.0)
    grown = road.run((100 * 0.3 / 0.4) ** (1 / 3) + 10.0)
    # Reno's one packet a round trip, and CUBIC's 0.4 t^3.
    assert grown == pytest.approx(100 + (100 + 400) / 2, rel=0.15)


def test_it_waits_while_there_is_a_queue_and_goes_on_when_it_has_gone() -> None:
    road = Road()
    road.run(1.0)
    road.lose(1000.0)
    before = road.run(5.0)
    assert road.run(4.0, queue_s=0.02) == pytest.approx(before, rel=0.01)
    assert road.run(2.0) > 1.02 * before


def test_losses_of_one_flight_are_one() -> None:
    road = Road()
    road.run(1.0)
    road.lose(1000.0)
    road.run(2 * RTT_S, queue_s=0.05)
    road.lose(300.0)  # the sender has gone down meanwhile
    assert road.run(1.0) > 700
    road.run(EPISODE_RTTS * RTT_S, queue_s=0.05)
    road.lose(300.0)
    assert 210 < road.run(1.0) < 300
