"""An agent's windows: what is congestion and what is not, who governs, and what goes up as a summary."""

from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent, multicast, probe_answered, repairs, report, signals


def test_independent_losses_are_no_congestion() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    probe_answered(agent, child, 0, 0.05)
    agent.window.cwnd = agent.window.ssthresh = 20.0
    found: list[str] = []
    for step in range(1, 200):
        now = step / 10
        lost = agent.end
        multicast(agent, now, now=now)
        multicast(agent, now, now=now)
        effects = report(agent, child, lost, 0b1, echo=now, now=now + 0.05, nack=True)
        assert repairs(effects) == [(lost, ONE)]
        found += signals(effects) + signals(report(agent, child, lost + 2, echo=now, now=now + 0.09))
    assert found == []
    assert agent.window.cwnd >= 20


def test_consecutive_duplicate_nacks_are_congestion() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    probe_answered(agent, child, 0, 0.05)
    agent.window.cwnd = agent.window.ssthresh = 20.0
    found: list[str] = []
    multicast(agent, 1, now=1)
    for step in range(1, 5):  # the first packet and all its repairs are lost
        now = 1 + step / 10
        multicast(agent, now, now=now)
        found += signals(report(agent, child, 0, (1 << step) - 1, echo=now, now=now + 0.06))
    assert found == ["duplicate_nacks"]
    assert agent.window.cwnd == 15


def test_a_timeout_starts_slow_start_and_empties_the_transit_window() -> None:
    agent = make_agent(MtcpOptions(rto_margin_s=0.2), own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    agent.window.cwnd = agent.window.ssthresh = 20.0
    for step in range(10):
        multicast(agent, 1 + step / 1000, now=1 + step / 1000)
    effects = agent.handle_timer(2.02)
    assert signals(effects) == ["timeout"]  # once for a window
    assert repairs(effects) == [(0, ONE)]  # the retransmission window is one packet
    assert (agent.window.cwnd, agent.window.ssthresh) == (1, 10)
    assert agent.summary() == (1400, 0)
    multicast(agent, 2.03, now=2.03)
    assert agent.transit.size == 1000
    report(agent, child, 10, echo=1.009, now=2.04)  # of before the timeout
    assert agent.transit.size == 1000
    assert agent.window.cwnd == 1
    report(agent, child, 11, echo=2.03, now=2.05)
    assert agent.transit.size == 0
    assert agent.window.cwnd == 2


def test_the_window_grows_with_what_all_children_have() -> None:
    agent = make_agent(own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    agent.windows.used = True
    multicast(agent, 1, now=1)
    assert agent.transit.size == 1000
    report(agent, one, 1, echo=1, now=1.1)
    assert agent.window.cwnd == 1
    assert agent.transit.size == 1000
    report(agent, two, 1, echo=1, now=1.2)
    assert agent.window.cwnd == 2
    assert agent.transit.size == 0


def test_the_most_delayed_child_governs() -> None:
    """One child's path has a queue: the other's short delay does not hide it."""
    agent = make_agent(MtcpOptions(alpha=2, beta=4), own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    agent.window.cwnd = agent.window.ssthresh = 10.0
    for step in range(200):  # 100 packets/s; two's delay is 0.1 s longer than at first: 10 packets wait
        now = 1 + step / 100
        multicast(agent, now, now=now)
        report(agent, one, agent.end, echo=now, now=now + 0.001)
        report(agent, two, agent.end, echo=now, now=now + (0.002 if step < 20 else 0.102))
    assert agent.window.cwnd < 10


def test_the_summary_takes_in_the_children_s() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    agent.window.cwnd = agent.window.ssthresh = 20.0
    multicast(agent, 1, now=1, size=1400)
    agent.feedback(one, Feedback(7, False, 1, 0, 0, 0, 15 * 1400, 10 * 1400, 10**6, 0), 1.1)
    agent.feedback(two, Feedback(7, False, 1, 0, 0, 0, 25 * 1400, 5 * 1400, 10**6, 0), 1.1)
    assert agent.summary() == (15 * 1400, 10 * 1400)
    assert agent.summary().current_window == 5 * 1400
    agent.remove_child(ONE, 1.2)
    assert agent.summary() == (20 * 1400, 5 * 1400)


def test_advertised_windows_count_from_the_first_missing_packet() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 5000, now=0.0)
    agent.add_child(TWO, 9000, now=0.0)
    assert agent.send_window_end == 5000
    for _ in range(4):
        multicast(agent, 1, now=1)
    agent.feedback(one, Feedback(7, False, 2, 0, 0, 0, UNLIMITED, 0, 5000, 0), 1.1)
    assert agent.send_window_end == 7000
    agent.feedback(one, Feedback(7, False, 1, 0, 0, 0, UNLIMITED, 0, 5000, 0), 1.2)  # an old one
    assert agent.send_window_end == 7000
    agent.feedback(one, Feedback(7, False, 4, 0, 0, 0, UNLIMITED, 0, 9000, 0), 1.3)
    assert agent.send_window_end == 9000  # the other child's
