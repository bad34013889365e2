"""Delays, round trip times and the timeouts they give: Fig. 1 of the paper, and what is not measured."""

import pytest

from hosts.endpoint import Address
from hosts.protocols.mtcp.delays import Delays
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent, multicast, probe_answered, report


def test_figure_1() -> None:
    """The SA's clock is one unit ahead; sent at 4, acknowledgment at 7: the RTD is 3."""
    agent = make_agent()
    child = agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 4, now=6)
    report(agent, child, 1, echo=4, now=7)
    assert child.rtd_last == 3


def test_the_delay_ends_with_the_arrival() -> None:
    """What waited for a busy machine waited outside the network."""
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 4, now=4)
    feedback = Feedback(7, False, 1, 4_000_000, 500_000, 0, UNLIMITED, 0, 10**6, 0)
    agent.feedback(child, feedback, 9.0, arrived_at=7.0)
    assert child.rtd_last == pytest.approx(7.0 - 4.0 - 0.5)
    assert child.heard_at == 9.0
    probe_answered(agent, child, 6_000_000, 9.0, arrived_at=7.0)
    assert child.rtt.mean == pytest.approx(1.0)


def test_a_busy_agent_s_timeouts_wait_for_what_lies_there() -> None:
    """Feedback that has arrived, and is yet to be handled, may hold the acknowledgment."""
    agent = make_agent(MtcpOptions(rto_margin_s=0.1, ack_delay_s=0.02), own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    probe_answered(agent, child, 0, 0.05)
    multicast(agent, 1, now=1)
    report(agent, child, 1, echo=1, now=1.05)
    before = agent.delays.rto_rtd or 0.0, agent.delays.rto_rtt
    for _ in range(200):
        agent.delays.handled(0.5)
    assert (agent.delays.rto_rtd, agent.delays.rto_rtt) == pytest.approx((before[0] + 0.5, before[1] + 0.5))


def test_before_any_measurement_a_second_passes() -> None:
    agent = make_agent()
    agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 5000.0, now=3.0)
    assert agent.delays.rto_rtd is None
    assert agent.wake_at == 4.0


def test_the_timeouts_are_the_children_s_maximum() -> None:
    agent = make_agent(MtcpOptions(rto_margin_s=0.1, ack_delay_s=0.02), own_clock=True)
    near = agent.add_child(ONE, 10**6, now=0.0)
    far = agent.add_child(TWO, 10**6, now=0.0)
    for step in range(100):
        multicast(agent, step, now=step)
        probe_answered(agent, near, step * 10**6, step + 0.01)
        report(agent, near, agent.end, echo=step, now=step + 0.01)
        probe_answered(agent, far, step * 10**6, step + 0.3)
        report(agent, far, agent.end, echo=step, now=step + 0.3)
    assert agent.delays.rto_rtd == pytest.approx(0.3 + 0.1 + 0.02, abs=0.01)
    assert agent.delays.rto_rtt == pytest.approx(0.3 + 0.1, abs=0.01)
    agent.remove_child(TWO, 100.0)
    assert agent.delays.rto_rtd == pytest.approx(0.01 + 0.1 + 0.02, abs=0.01)


def test_echoes_from_the_future_are_not_measured() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 1, now=1)
    report(agent, child, 1, echo=2000, now=1.1)
    probe_answered(agent, child, 2**63, 1.1)
    assert child.rtd.samples == child.rtt.samples == 0
    assert agent.counters == {"feedback_packets": 1, "drop_echo_from_the_future": 1, "drop_probe_ack_time": 1}


def test_many_children_are_looked_through_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with each of their acknowledgments, nor while the first measurements come in."""
    looks: list[int] = []
    refresh = Delays.refresh

    def look(delays: Delays) -> None:
        looks.append(1)
        refresh(delays)

    monkeypatch.setattr(Delays, "refresh", look)
    agent = make_agent(MtcpOptions(fan_out=1000), own_clock=True)
    children = [agent.add_child(Address(f"10.0.{index >> 8}.{index & 255}", 1), 10**6, now=0.0) for index in range(500)]
    for step in range(1, 4):
        multicast(agent, step, now=step)
        for index, child in enumerate(children):
            report(agent, child, step, echo=step, now=step + 0.01 + index / 10_000)
    assert agent.delays.rto_rtd is not None
    assert agent.base == 3
    assert len(looks) < 12
