"""What a parent repeats, and when: Figs. 2 and 3 of the paper, NACKs, the tail."""

import pytest

from hosts.endpoint import Address, Effect
from hosts.parts.adaptive import RESTART_CWND
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.delays import MAX_TIMEOUT_S
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import (
    GROUP,
    ONE,
    THREE,
    TWO,
    T,
    make_agent,
    multicast,
    probe_answered,
    repairs,
    report,
    settle_delays,
    signals,
)


def test_figure_2() -> None:
    """The sender's clock is three units ahead: an RTD of -1, and packet 26, sent at 7.2, times out at 6.2."""
    agent = make_agent()
    child = agent.add_child(ONE, 10**6, now=0.0)
    settle_delays(agent, child, rtd=-1.0, rtt=1.0, start=T - 300)
    assert agent.delays.rto_rtd == pytest.approx(-1.0)
    multicast(agent, T + 5, now=T + 3)
    report(agent, child, agent.end, echo=T + 5, now=T + 4)
    assert child.rtd_last == -1
    lost = agent.end
    multicast(agent, T + 7.2, now=T + 5)
    assert agent.wake_at == pytest.approx(T + 6.2)
    assert not agent.handle_timer(T + 6.1)
    assert repairs(agent.handle_timer(T + 6.2001)) == [(lost, ONE)]


def test_figure_3() -> None:
    """RTO_RTD 7 and RTO_RTT 1, sent at 0, buffered at 5.5: repairs at 7, 8, 10, 14."""
    agent = make_agent()
    child = agent.add_child(ONE, 10**6, now=0.0)
    settle_delays(agent, child, rtd=7.0, rtt=1.0, start=T - 300)
    assert agent.delays.rto_rtd == pytest.approx(7.0)
    assert agent.delays.rto_rtt == pytest.approx(1.0)
    lost = agent.end
    multicast(agent, T, now=T + 5.5)
    for at in (7.0, 8.0, 10.0, 14.0):
        assert agent.wake_at == pytest.approx(T + at, abs=0.01)
        assert repairs(agent.handle_timer(T + at + 0.002)) == [(lost, ONE)]


def test_backoff_is_bounded() -> None:
    agent = make_agent()
    agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 0.0, now=0.0)
    now = 0.0
    for _ in range(20):
        assert agent.wake_at is not None
        assert agent.wake_at - now <= MAX_TIMEOUT_S + 0.01
        now = agent.wake_at
        assert repairs(agent.handle_timer(now)) == [(0, ONE)]


def test_a_nack_is_repaired_at_once_and_once_a_round_trip() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    probe_answered(agent, child, 0, 0.1)
    for step in range(8):
        multicast(agent, 1 + step / 100, now=1 + step / 100)
    assert repairs(report(agent, child, 0, 0b1, echo=1.01, now=1.11, nack=True)) == [(0, ONE)]
    assert repairs(report(agent, child, 0, 0b11, echo=1.02, now=1.12)) == []
    assert repairs(report(agent, child, 0, 0b111, echo=1.03, now=1.20)) == []
    # A round trip later, and a packet that was sent after the repair has arrived: the repair is lost.
    multicast(agent, 1.2, now=1.2)
    assert repairs(report(agent, child, 0, 0b1111, echo=1.04, now=1.25)) == []
    assert repairs(report(agent, child, 0, 0b11111111, echo=1.2, now=1.30)) == [(0, ONE)]
    assert child.lost == 1
    assert child.repaired == 2


def test_each_child_gets_its_own_repair() -> None:
    agent = make_agent(own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    for _ in range(3):
        multicast(agent, 1, now=1)
    assert repairs(report(agent, one, 0, 0b1, now=1.1)) == [(0, ONE)]
    assert repairs(report(agent, two, 0, 0b1, now=1.1)) == [(0, TWO)]
    assert repairs(report(agent, one, 3, now=1.2)) == []
    assert agent.base == 0
    report(agent, two, 3, now=1.2)
    assert agent.base == 3
    assert agent.congestion.twnd.size == 0


def test_what_several_lack_is_repaired_to_all_at_once() -> None:
    agent = make_agent(own_clock=True, group=GROUP)
    children = [agent.add_child(address, 10**6, now=0.0) for address in (ONE, TWO, THREE)]
    for child in children:
        probe_answered(agent, child, 0, 0.1)
    for step in range(3):
        multicast(agent, 1, now=1 + step / 100)
    one, two, three = children
    assert repairs(report(agent, one, 0, 0b1, now=1.1, nack=True)) == [(0, ONE)]  # maybe nobody else
    assert repairs(report(agent, two, 0, 0b1, now=1.11, nack=True)) == [(0, GROUP)]
    assert repairs(report(agent, three, 0, 0b1, now=1.12, nack=True)) == []  # it is on its way
    assert [child.lost for child in children] == [1, 1, 1]
    # A round trip later, and a packet that was sent after it has arrived: that was lost as well.
    multicast(agent, 1.2, now=1.2)
    assert repairs(report(agent, three, 0, 0b111, echo=1.2, now=1.3)) == [(0, GROUP)]


def test_repairs_that_wait_for_their_window_do_not_time_out() -> None:
    agent = make_agent(MtcpOptions(rules="paper", rto_margin_s=0.2), own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    for _ in range(6):
        multicast(agent, 1, now=1)
    assert repairs(report(agent, child, 0, 0b10000, echo=1, now=1.1, nack=True)) == [(0, ONE)]
    assert child.lost == 5
    seen: list[str] = []
    for step in range(1, 5):  # each repair arrives, one after the other
        seen += signals(report(agent, child, step, 0b10000 >> step, echo=1, now=1.1 + step * 0.2))
        seen += signals(agent.handle_timer(1.1 + step * 0.2 + 0.1))
    report(agent, child, 6, echo=1, now=2.5)
    assert seen == []
    assert child.repaired == 5
    assert child.repairs.retransmission_window.cwnd > 1


def test_a_silent_tail_is_asked_for_before_it_times_out() -> None:
    """The last packet goes again to those that may lack it; what they lack before it they report; nothing is cut."""
    agent = make_agent(MtcpOptions(rules="paper", rto_margin_s=0.2), own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 4500, now=0.0)  # has room for four packets only
    for step in range(1, 3):
        multicast(agent, step, now=step)
        for child in (one, two):
            probe_answered(agent, child, round(step * 1e6), step + 0.05)
            child.advertised_end = 4500
            agent.feedback(child, Feedback(7, False, step, round(step * 1e6), 0, 0, UNLIMITED, 0, 4500, 0), step + 0.05)
    two.advertised_end = 4500
    agent.congestion.window.cwnd = 10.0
    for _ in range(3):
        multicast(agent, 3, now=3)
    rto = agent.delays.rto_rtd
    assert rto is not None
    assert agent.wake_at is not None
    assert 3.05 < agent.wake_at < 3 + rto
    effects = agent.handle_timer(agent.wake_at)
    assert repairs(effects) == [(4, ONE)]
    assert signals(effects) == []
    effects = report(agent, one, 2, 0b11, echo=2, now=3.3, nack=True)
    assert repairs(effects) == [(2, ONE)]
    assert agent.congestion.window.cwnd == 10


def _answer(agent: Agent, child: Child, now: float, *, needless: bool) -> list[Effect]:
    """To a repair of all that it lacked."""
    feedback = Feedback(7, False, agent.end, 0, 0, round(now * 1e6), UNLIMITED, 0, 10**6, 0, needless=needless)
    return agent.feedback(child, feedback, now)


def _one_of_two_says_nothing() -> tuple[Agent, Child, float]:
    """A sender, the child from which no acknowledgment has come and that has been asked, and when."""
    agent = make_agent(MtcpOptions(), own_clock=True)
    children = [agent.add_child(address, 10**6, now=0.0) for address in (ONE, TWO)]
    for step in range(40):
        now = 1 + step / 10
        multicast(agent, now, now)
        for child in children:
            probe_answered(agent, child, round(now * 1e6), now + 0.05)
            report(agent, child, agent.end, echo=now, now=now + 0.05)
    multicast(agent, 6.0, 6.0)
    report(agent, children[0], agent.end, echo=6.0, now=6.05)
    asked: list[tuple[int, Address]] = []
    while len(asked) < 2:  # as the last packet, whose acknowledgment is overdue, and upon the timeout
        assert agent.wake_at is not None
        now = agent.wake_at
        effects = agent.handle_timer(now)
        assert signals(effects) == []
        asked += repairs(effects)
    assert asked == [(agent.end - 1, TWO)] * 2
    return agent, children[1], now


def test_what_others_have_is_asked_for_and_the_answer_tells_whether_it_was_lost() -> None:
    for needless, found in ((True, []), (False, ["timeout"])):
        agent, child, now = _one_of_two_says_nothing()
        before = agent.congestion.window.cwnd
        assert before > 1
        assert signals(_answer(agent, child, now + 0.05, needless=needless)) == found
        assert agent.congestion.window.cwnd == (before if needless else 1)
        assert (child.misheard_at == now + 0.05) == needless


def test_timeouts_of_all_children_count_unless_all_had_it() -> None:
    """The window comes back when the answers say that nothing was lost but what they had said before."""
    for needless in (True, False):
        agent = make_agent(MtcpOptions(), own_clock=True)
        child = agent.add_child(ONE, 10**6, now=0.0)
        for step in range(40):
            now = 1 + step / 10
            multicast(agent, now, now)
            report(agent, child, agent.end, echo=now, now=now + 0.05)
        before = agent.congestion.window.cwnd
        multicast(agent, 6.0, 6.0)
        found: list[str] = []
        while "timeout" not in found:
            assert agent.wake_at is not None
            now = agent.wake_at
            found = signals(agent.handle_timer(now))
        assert agent.congestion.window.cwnd == 1
        _answer(agent, child, now + 0.05, needless=needless)
        assert agent.congestion.window.cwnd == (min(before, RESTART_CWND) if needless else 1)
