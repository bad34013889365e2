from hosts.parts.loss_events import LossEvents


def events(count: int, every: int) -> LossEvents:
    made = LossEvents()
    for _ in range(count):
        made.arrived(every)
        made.lost()
    return made


def test_a_few_are_chance() -> None:
    assert not events(3, 10).are_heavy


def test_more_than_links_have_are_heavy_and_rare_ones_are_not() -> None:
    assert events(40, 30).are_heavy
    assert not events(400, 100).are_heavy


def test_they_are_over_when_packets_arrive() -> None:
    made = events(40, 10)
    for _ in range(800):
        made.arrived(1)
    assert not made.are_heavy


def test_what_slow_start_loses_does_not_count() -> None:
    made = events(40, 10)
    made.forget()
    assert not made.are_heavy
