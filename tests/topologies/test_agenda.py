from functools import partial

from topologies.agenda import Agenda


def test_actions_come_by_time_and_then_in_order() -> None:
    agenda, done = Agenda(), list[tuple[str, float]]()
    for name, time in (("b", 2.0), ("a", 1.0), ("c", 2.0)):
        agenda.at(time, lambda now, name=name: done.append((name, now)))  # type: ignore[misc]
    assert agenda.next_at == 1.0
    agenda.run_due(1.0)
    assert done == [("a", 1.0)]
    agenda.run_due(2.5)
    assert [name for name, _ in done] == ["a", "b", "c"]
    assert agenda.next_at == float("inf")


def test_what_an_action_adds_for_now_is_done_now() -> None:
    agenda, done = Agenda(), list[float]()
    agenda.at(1.0, lambda now: agenda.after(0.0, done.append))
    agenda.run_due(1.0)
    assert done == [1.0]


def test_the_past_is_now() -> None:
    agenda, done = Agenda(), list[float]()
    agenda.run_due(5.0)
    agenda.at(1.0, done.append)
    assert agenda.next_at == 5.0


def test_repetitions_do_not_drift() -> None:
    agenda, done = Agenda(), list[float]()
    agenda.every(0.1, done.append, start=1.0)
    agenda.every(0.1, partial(lambda now: None))
    while agenda.next_at < 100.0:
        agenda.run_due(agenda.next_at)
    assert done == [1.0 + 0.1 * count for count in range(len(done))]
    assert len(done) == 990


def test_repetitions_that_were_missed_are_left_out() -> None:
    agenda, done = Agenda(), list[float]()
    agenda.every(0.25, done.append)
    for now in (0.0, 1.1, 1.3):
        agenda.run_due(now)
    assert done == [0.0, 1.1, 1.3]
    assert agenda.next_at == 1.5
