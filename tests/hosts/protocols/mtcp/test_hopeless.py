"""Which children are given up, and why."""

from collections import Counter

from hosts.endpoint import Address
from hosts.parts.silence import UNPROVEN_S
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.hopeless import hopeless
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.parent import ONE, TWO, multicast, report


def make_agent() -> Agent:
    return Agent(MtcpOptions(drop_after_s=10), Counter(), first=0, own_clock=True)


def found(
    agent: Agent, now: float, *, blocked: bool = False, others_are_through: bool = False
) -> list[tuple[Address, Reason]]:
    said = hopeless(agent, now, blocked=blocked, others_are_through=others_are_through)
    return [(child.address, reason) for child, reason in said]


def test_who_is_hopeless() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 10**6, now=0.0)
    agent.add_child(TWO, 10**6, now=0.0)
    assert found(agent, 9.9) == []
    report(agent, one, 0, now=9.0)
    assert found(agent, 10.0) == [(TWO, Reason.SILENT)]
    agent.remove_child(TWO, 10.0)
    multicast(agent, 1, now=11)
    report(agent, one, 1, now=49.0)
    assert found(agent, 49.0) == []  # it was idle: only now there is something to make progress with
    multicast(agent, 50, now=50)
    report(agent, one, 1, now=50.1)
    assert found(agent, 58.9) == []
    report(agent, one, 1, now=60.0)
    assert found(agent, 60.1) == [(ONE, Reason.STALLED)]


def test_a_closed_window_is_a_stall_when_it_blocks_the_sender() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 1000, now=0.0)
    agent.add_child(TWO, 5000, now=0.0)
    multicast(agent, 1, now=1)
    for child in list(agent.children.values()):
        agent.feedback(child, Feedback(7, False, 1, 0, 0, 0, UNLIMITED, 0, 0 if child is one else 4000, 0), 1.1)
    for now in (5.0, 10.0, 15.0):
        for child in list(agent.children.values()):
            agent.feedback(child, Feedback(7, False, 1, 0, 0, 0, UNLIMITED, 0, 0 if child is one else 4000, 0), now)
        if now < 15:
            assert found(agent, now, blocked=True) == []
    assert found(agent, 15.0, blocked=True) == [(ONE, Reason.STALLED)]
    assert found(agent, 15.0, blocked=False) == []


def test_who_has_acknowledged_next_to_nothing_has_no_other_reason_and_less_time_in_the_end() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 10**6, now=0.0)
    for _ in range(4):
        multicast(agent, 1, now=1)
    assert found(agent, 9.9) == []
    assert found(agent, 10.0) == [(ONE, Reason.UNPROVEN)]
    assert found(agent, UNPROVEN_S - 0.1, others_are_through=True) == []
    assert found(agent, UNPROVEN_S, others_are_through=True) == [(ONE, Reason.UNPROVEN)]
    report(agent, one, 1, now=2.0)
    assert found(agent, 2.0 + UNPROVEN_S, others_are_through=True) == [(ONE, Reason.UNPROVEN)]
    report(agent, one, 2, now=3.0)
    report(agent, one, 3, now=4.0)
    assert found(agent, 13.0, others_are_through=True) == []
    assert found(agent, 14.0, others_are_through=True) == [(ONE, Reason.SILENT)]
