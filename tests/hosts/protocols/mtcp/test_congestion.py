"""What is congestion and what is not, who governs, and congestion summaries: Fig. 4 of the paper."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.parts.adaptive import AdaptiveWindow
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.congestion import Congestion, Summaries, Summary, TransitWindow
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.hosts.protocols.mtcp.parent import ONE, TWO, make_agent, multicast, probe_answered, repairs, report, signals


def test_independent_losses_are_no_congestion() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    probe_answered(agent, child, 0, 0.05)
    agent.congestion.window.cwnd = agent.congestion.window.ssthresh = 20.0
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
    assert agent.congestion.window.cwnd >= 20


def test_consecutive_duplicate_nacks_are_congestion() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    probe_answered(agent, child, 0, 0.05)
    agent.congestion.window.cwnd = agent.congestion.window.ssthresh = 20.0
    found: list[str] = []
    multicast(agent, 1, now=1)
    for step in range(1, 5):  # the first packet and all its repairs are lost
        now = 1 + step / 10
        multicast(agent, now, now=now)
        found += signals(report(agent, child, 0, (1 << step) - 1, echo=now, now=now + 0.06))
    assert found == ["duplicate_nacks"]
    assert agent.congestion.window.cwnd == 15


def test_a_timeout_starts_slow_start_and_empties_the_transit_window() -> None:
    agent = make_agent(MtcpOptions(rules="paper", rto_margin_s=0.2), own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    agent.congestion.window.cwnd = agent.congestion.window.ssthresh = 20.0
    for step in range(10):
        multicast(agent, 1 + step / 1000, now=1 + step / 1000)
    effects = agent.handle_timer(2.02)
    assert signals(effects) == ["timeout"]  # once for a window
    assert repairs(effects) == [(0, ONE)]  # the retransmission window is one packet
    assert (agent.congestion.window.cwnd, agent.congestion.window.ssthresh) == (1, 10)
    assert agent.summary() == (1400, 0)
    multicast(agent, 2.03, now=2.03)
    assert agent.congestion.twnd.size == 1000
    report(agent, child, 10, echo=1.009, now=2.04)  # of before the timeout
    assert agent.congestion.twnd.size == 1000
    assert agent.congestion.window.cwnd == 1
    report(agent, child, 11, echo=2.03, now=2.05)
    assert agent.congestion.twnd.size == 0
    assert agent.congestion.window.cwnd == 2


def test_the_window_grows_with_what_all_children_have() -> None:
    agent = make_agent(own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    agent.congestion.used = True
    multicast(agent, 1, now=1)
    assert agent.congestion.twnd.size == 1000
    report(agent, one, 1, echo=1, now=1.1)
    assert agent.congestion.window.cwnd == 1
    assert agent.congestion.twnd.size == 1000
    report(agent, two, 1, echo=1, now=1.2)
    assert agent.congestion.window.cwnd == 2
    assert agent.congestion.twnd.size == 0


def test_the_most_delayed_child_governs() -> None:
    """One child's path has a queue: the other's short delay does not hide it."""
    agent = make_agent(MtcpOptions(rules="paper", alpha=2, beta=4), own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    agent.congestion.window.cwnd = agent.congestion.window.ssthresh = 10.0
    for step in range(200):  # 100 packets/s; two's delay is 0.1 s longer than at first: 10 packets wait
        now = 1 + step / 100
        multicast(agent, now, now=now)
        report(agent, one, agent.end, echo=now, now=now + 0.001)
        report(agent, two, agent.end, echo=now, now=now + (0.002 if step < 20 else 0.102))
    assert agent.congestion.window.cwnd < 10


def test_the_summary_takes_in_the_children_s() -> None:
    agent = make_agent()
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 10**6, now=0.0)
    agent.congestion.window.cwnd = agent.congestion.window.ssthresh = 20.0
    multicast(agent, 1, now=1, size=1400)
    agent.feedback(one, Feedback(7, False, 1, 0, 0, 0, 15 * 1400, 10 * 1400, 10**6, 0), 1.1)
    agent.feedback(two, Feedback(7, False, 1, 0, 0, 0, 25 * 1400, 5 * 1400, 10**6, 0), 1.1)
    assert agent.summary() == (15 * 1400, 10 * 1400)
    assert agent.summary().current_window == 5 * 1400
    agent.remove_child(ONE, 1.2)
    assert agent.summary() == (20 * 1400, 5 * 1400)


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


def test_a_queue_that_is_suddenly_longer_than_the_path_leaves_the_path_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mean round trip time lags behind: less the wait it would be nothing, and a drain would stop the session."""
    options = MtcpOptions()
    congestion = Congestion(options, 0, 0, own_clock=True)
    child = Child(0, Address("10.0.0.1", 1), options, 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
    bases: list[float] = []

    def ended(_: AdaptiveWindow, waiting_s: float, rate: float, rtt_s: float, used: bool, now: float) -> None:
        bases.append(rtt_s - waiting_s)

    monkeypatch.setattr(AdaptiveWindow, "round_trip_ended", ended)
    for number, rtt in enumerate([0.1] * 20 + [0.6] * 5):
        child.add_rtd(rtt, 0.0, number)
        congestion.end_round(number, number, [child], number)
    assert min(bases) > 0.099


SEGMENT = 1400


def summarise(cwnd: int, twnd: int, children: list[tuple[int, int]], end_offset: int = 0) -> Summary:
    """An agent's summary when its children have everything and report (min_cwnd, max_twnd)."""
    summaries = Summaries(0)
    for number, (min_cwnd, max_twnd) in enumerate(children):
        child = Child(
            number, Address("10.0.0.1", number), MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20
        )
        child.highest_offset = end_offset
        summaries.add(child)
        summaries.update(child, min_cwnd, max_twnd)
    return summaries.of_subtree(cwnd, twnd, end_offset)


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


SIZES = st.integers(0, UNLIMITED - 1)


@given(SIZES, SIZES, st.lists(st.tuples(SIZES, SIZES), max_size=20), st.integers(0, 2**50))
def test_against_minimum_and_maximum(cwnd: int, twnd: int, children: list[tuple[int, int]], end_offset: int) -> None:
    expected = (min(cwnd, *(one for one, _ in children), cwnd), max(twnd, *(one for _, one in children), twnd))
    assert summarise(cwnd, twnd, children, end_offset) == expected
    assert summarise(cwnd, twnd, [*children, (UNLIMITED, 0)], end_offset) == expected  # a leaf is neutral


def test_what_was_sent_since_a_report_is_in_transit_too() -> None:
    summaries = Summaries(0)
    child = Child(0, Address("10.0.0.1", 1), MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
    summaries.add(child)
    child.highest_offset = 10 * SEGMENT
    summaries.update(child, 20 * SEGMENT, 4 * SEGMENT)
    assert summaries.of_subtree(30 * SEGMENT, 0, 10 * SEGMENT).current_window == 16 * SEGMENT
    assert summaries.of_subtree(30 * SEGMENT, 3 * SEGMENT, 13 * SEGMENT).current_window == 13 * SEGMENT
    summaries.timed_out(13 * SEGMENT)  # a timeout: what was sent before does not count
    summaries.update(child, 20 * SEGMENT, 0)
    assert summaries.of_subtree(30 * SEGMENT, 0, 13 * SEGMENT).current_window == 20 * SEGMENT
