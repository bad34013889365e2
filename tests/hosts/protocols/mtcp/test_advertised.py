"""What the children's advertised windows let the sender send, and what is kept for them."""

from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent, multicast


def test_advertised_windows_count_from_the_first_missing_packet() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 5000, now=0.0)
    agent.add_child(TWO, 9000, now=0.0)
    assert agent.advertised.end == 5000
    for _ in range(4):
        multicast(agent, 1, now=1)
    agent.feedback(one, Feedback(7, False, 2, 0, 0, 0, UNLIMITED, 0, 5000, 0), 1.1)
    assert agent.advertised.end == 7000
    agent.feedback(one, Feedback(7, False, 1, 0, 0, 0, UNLIMITED, 0, 5000, 0), 1.2)  # an old one
    assert agent.advertised.end == 7000
    agent.feedback(one, Feedback(7, False, 4, 0, 0, 0, UNLIMITED, 0, 9000, 0), 1.3)
    assert agent.advertised.end == 9000  # the other child's


def test_what_is_held_for_those_who_have_gone_keeps_the_sender_near() -> None:
    agent = make_agent()
    child = agent.add_child(ONE, 5000, now=0.0)
    assert (agent.advertised.end, agent.advertised.keep_offset) == (5000, 0)
    child.advertised_end = 9000
    agent.advertised.update(child)
    assert (agent.advertised.end, agent.advertised.keep_offset) == (9000, 4000)
    agent.advertised.hold(1000, 3000)
    assert (agent.advertised.end, agent.advertised.keep_offset) == (4000, 1000)
    agent.advertised.hold(2000, 3000)  # the least that was asked for counts
    assert (agent.advertised.end, agent.advertised.keep_offset) == (4000, 1000)
    agent.advertised.release()
    assert (agent.advertised.end, agent.advertised.keep_offset) == (9000, 4000)
