from __future__ import annotations

from controller.network import Timing
from controller.querier import MIN_SPACING_S, STARTUP_RESPONSE_S, Querier

TIMING = Timing(query_interval_s=8.0, query_response_s=2.0, robustness=3)


def times(querier: Querier, end: float) -> list[tuple[float, float]]:
    """(time, response time) of every query of one switch until `end`."""
    found = []
    while (now := querier.wake_at()) is not None and now <= end:
        found += [(now, response) for _, response in querier.due(now)]
    return found


def test_a_switch_is_queried_at_once_then_quickly_then_regularly() -> None:
    querier = Querier(TIMING)
    querier.start("s1", 100.0)
    assert times(querier, 120.0) == [
        (100.0, STARTUP_RESPONSE_S),
        (102.0, STARTUP_RESPONSE_S),
        (104.0, STARTUP_RESPONSE_S),
        (112.0, 2.0),
        (120.0, 2.0),
    ]


def test_switches_have_their_own_clocks_and_end() -> None:
    querier = Querier(TIMING)
    querier.start("s1", 0.0)
    querier.start("s2", 1.0)
    assert querier.due(0.5) == [("s1", STARTUP_RESPONSE_S)]
    assert querier.due(1.0) == [("s2", STARTUP_RESPONSE_S)]
    querier.stop("s1")
    querier.stop("s1")
    assert [switch for switch, _ in querier.due(100.0)] == ["s2"]
    querier.stop("s2")
    assert querier.wake_at() is None


def test_hurrying_is_bounded() -> None:
    querier = Querier(TIMING)
    querier.hurry("s1", 0.0)  # not there: nothing happens
    querier.start("s1", 0.0)
    times(querier, 50.0)
    assert querier.wake_at() == 52.0
    querier.hurry("s1", 51.0)
    assert querier.due(51.0) == [("s1", STARTUP_RESPONSE_S)]
    for _ in range(100):
        querier.hurry("s1", 51.1)
    assert querier.wake_at() == 51.0 + MIN_SPACING_S
