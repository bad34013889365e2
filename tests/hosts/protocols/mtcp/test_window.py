"""Transit windows, and the window that a summary leaves."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.mtcp.window import Summary, TransitWindow


def test_the_current_window_is_not_negative() -> None:
    assert Summary(10, 15).current_window == 0


def test_after_a_timeout_old_packets_do_not_count() -> None:
    transit = TransitWindow()
    for _ in range(5):
        transit.sent(100)
    transit.acknowledged(0, 100)
    assert transit.size == 400
    transit.reset(5)
    assert transit.size == 0
    transit.acknowledged(1, 100)
    assert transit.size == 0
    transit.sent(100)
    assert transit.counts(5)
    assert not transit.counts(4)
    transit.acknowledged(5, 100)
    assert transit.size == 0


@given(st.lists(st.sampled_from(["send", "acknowledge", "reset"]), max_size=200))
def test_never_negative(steps: list[str]) -> None:
    transit = TransitWindow()
    outstanding: list[int] = []
    seq = 0
    for step in steps:
        if step == "send":
            transit.sent(10)
            outstanding.append(seq)
            seq += 1
        elif step == "acknowledge" and outstanding:
            transit.acknowledged(outstanding.pop(seq % len(outstanding)), 10)
        elif step == "reset":
            transit.reset(seq)
        assert transit.size == 10 * sum(transit.counts(number) for number in outstanding)
