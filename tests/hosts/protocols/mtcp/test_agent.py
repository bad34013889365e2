"""The agent: acknowledgments, children that leave, and feedback that stands for several of them."""

import pytest

from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent, multicast, repairs, report


def test_sequence_numbers_wrap() -> None:
    agent = make_agent(first=2**32 - 3, own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    for _ in range(6):
        multicast(agent, 1, now=1)
    effects = report(agent, child, 2**32 - 2, 0b1011, echo=1, now=1.1, nack=True)
    assert repairs(effects) == [((2**32 - 2) % 2**32, ONE)]
    report(agent, child, 2**32 + 3, echo=1, now=1.2)
    assert agent.base == agent.end == 2**32 + 3
    assert agent.congestion.twnd.size == 0


@pytest.mark.parametrize(("cumulative", "sack"), [(6, 0), (2**31, 0), (3, 0b100), (0, 1 << 500), (2**32 - 1, 0)])
def test_acknowledgments_of_what_was_not_sent_are_dropped(cumulative: int, sack: int) -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    for _ in range(5):
        multicast(agent, 1, now=1)
    assert report(agent, child, cumulative, sack, echo=1, now=1.1) == []
    assert agent.counters == {"feedback_packets": 1, "drop_ack_of_unsent": 1}
    assert agent.base == 0
    assert child.rtd.samples == 0


def test_a_child_that_leaves_takes_what_it_held_back() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 10**6, now=0.0)
    agent.add_child(TWO, 1000, now=0.0)
    for _ in range(3):
        multicast(agent, 1, now=1)
    report(agent, one, 3, echo=1, now=1.1)
    assert agent.base == 0
    agent.remove_child(TWO, 1.2)
    assert agent.base == 3
    assert agent.congestion.twnd.size == 0
    assert agent.advertised.end == 3000 + 10**6
    assert agent.wake_at is None
