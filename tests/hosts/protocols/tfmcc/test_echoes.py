"""Echoes: their order and their bound."""

from hosts.protocols.tfmcc.echoes import MOST, Echo, EchoQueue, Priority


def test_echoes_come_in_the_papers_order_and_ties_go_to_the_lowest_rate() -> None:
    queue = EchoQueue()
    for receiver, priority, rate in (
        (1, Priority.OTHER, 10),
        (2, Priority.NO_RTT, 30),
        (3, Priority.NO_RTT, 20),
        (4, Priority.NEW_CLR, 99),
        (5, Priority.OTHER, 5),
    ):
        assert queue.add(priority, rate, Echo(receiver, 1, 0.0, False))
    order = []
    while (echo := queue.pop()) is not None:
        order.append(echo.receiver)
    assert order == [4, 3, 2, 5, 1]


def test_a_receivers_newer_report_takes_the_place_of_the_older_and_memory_is_bounded() -> None:
    queue = EchoQueue()
    for time in range(10 * MOST):
        queue.add(Priority.OTHER, time, Echo(7, time, 0.0, True))
    assert len(queue) == 1
    echo = queue.pop()
    assert echo is not None
    assert echo.time_us == 10 * MOST - 1
    assert queue.pop() is None
    accepted = sum(queue.add(Priority.NO_RTT, 1, Echo(receiver, 0, 0.0, False)) for receiver in range(2 * MOST))
    assert accepted == len(queue) == MOST
    queue.drop(0)
    assert len(queue) == MOST - 1
