"""Transit windows and summaries; Fig. 4 of the MTCP paper."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.window import Summary, TransitWindow, summarise

UNLIMITED = 2**32 - 1


def test_figure_4() -> None:
    """Node 7 reports 30 and 8, node 9 15 and 10, both to node 3; node 1 reports 25 and 5. The sender may send 5."""
    leaf = [(UNLIMITED, 0)]
    node_7 = summarise(30, 8, leaf)
    node_9 = summarise(15, 10, leaf)
    node_3 = summarise(20, 3, [node_7, node_9])
    assert node_3 == (15, 10)
    node_1 = summarise(25, 5, leaf)
    sender = summarise(40, 2, [node_3, node_1])
    assert sender == (15, 10)
    assert sender.current_window == 5


def test_the_current_window_is_not_negative() -> None:
    assert Summary(10, 15).current_window == 0


@given(st.lists(st.tuples(st.integers(0, UNLIMITED), st.integers(0, UNLIMITED)), max_size=20))
def test_a_leaf_is_neutral(children: list[tuple[int, int]]) -> None:
    assert summarise(1000, 10, [*children, (UNLIMITED, 0)]) == summarise(1000, 10, children)


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
