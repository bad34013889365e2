"""The agent: Figs. 1-3 of the paper, repairs, timers, windows."""

from collections import Counter

import pytest

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.mtcp.agent import Agent
from hosts.mtcp.child import Child
from hosts.mtcp.delays import MAX_TIMEOUT_S, Delays
from hosts.mtcp.options import MtcpOptions
from hosts.mtcp.packets import Feedback, Repair, encode_data, parse
from hosts.mtcp.wire import UNLIMITED

ONE = Address("10.0.0.1", 1)
TWO = Address("10.0.0.2", 1)
T = 1000.0
"""Time 0 of the figures: clocks on the wire do not go below zero."""
BARE = MtcpOptions(rto_margin_s=0.0, ack_delay_s=1e-9)
"""No margins, so that timeouts are the means of constant delays, as in the paper's figures."""


def make_agent(options: MtcpOptions = BARE, *, first: int = 0, own_clock: bool = False) -> Agent:
    return Agent(7, options, Counter(), first=first, own_clock=own_clock)


def multicast(agent: Agent, send_time: float, now: float, size: int = 1000) -> None:
    """The packet `agent.end` was sent at `send_time` (sender's clock) and buffered at `now` (agent's)."""
    time_us = round(send_time * 1e6)
    data = encode_data(7, False, agent.end, time_us, agent.end_offset, bytes(size))
    agent.buffer(data, agent.end_offset, size, time_us, now)


def report(
    agent: Agent, child: Child, cumulative: int, sack: int = 0, *, echo: float = 0.0, now: float, nack: bool = False
) -> list[Effect]:
    """`child` says that it has all before `cumulative` and the packets of the bitmap."""
    wire = cumulative % 2**32
    feedback = Feedback(7, nack, wire, round(echo * 1e6), 0, 0, UNLIMITED, 0, 10**6, sack)
    return agent.feedback(child, feedback, now)


def probe_answered(agent: Agent, child: Child, time_us: int, now: float, arrived_at: float | None = None) -> None:
    """A probe of `time_us` was answered."""
    agent.delays.probe_answered(child, time_us, now if arrived_at is None else arrived_at)


def repairs(effects: list[Effect]) -> list[tuple[int, Address]]:
    """(sequence number, child) of each repair."""
    found = []
    for effect in effects:
        if isinstance(effect, Send):
            packet = parse(effect.data)
            assert isinstance(packet, Repair)
            found.append((packet.seq, effect.destination))
    return found


def signals(effects: list[Effect]) -> list[str]:
    return [effect.kind for effect in effects if isinstance(effect, CongestionSignal)]


def settle_delays(agent: Agent, child: Child, rtd: float, rtt: float, start: float = 10.0) -> None:
    """Measure a constant RTD and RTT until their deviations are nil."""
    for step in range(200):
        sent = start + step
        multicast(agent, sent, now=sent + rtd - 0.5)
        probe_answered(agent, child, round((sent + rtd - rtt) * 1e6), sent + rtd)
        report(agent, child, agent.end, echo=sent, now=sent + rtd)


def test_figure_1() -> None:
    """The SA's clock is one unit ahead; sent at 4, acknowledgment at 7: the RTD is 3."""
    agent = make_agent()
    child = agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 4, now=6)
    report(agent, child, 1, echo=4, now=7)
    assert child.rtd.last == 3


def test_the_delay_ends_with_the_arrival() -> None:
    """What waited for a busy machine waited outside the network."""
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 4, now=4)
    feedback = Feedback(7, False, 1, 4_000_000, 500_000, 0, UNLIMITED, 0, 10**6, 0)
    agent.feedback(child, feedback, 9.0, arrived_at=7.0)
    assert child.rtd.last == pytest.approx(7.0 - 4.0 - 0.5)
    assert child.heard_at == 9.0
    probe_answered(agent, child, 6_000_000, 9.0, arrived_at=7.0)
    assert child.rtt.last == pytest.approx(1.0)


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


def test_figure_2() -> None:
    """The sender's clock is three units ahead: an RTD of -1, and packet 26, sent at 7.2, times out at 6.2."""
    agent = make_agent()
    child = agent.add_child(ONE, 10**6, now=0.0)
    settle_delays(agent, child, rtd=-1.0, rtt=1.0, start=T - 300)
    assert agent.delays.rto_rtd == pytest.approx(-1.0)
    multicast(agent, T + 5, now=T + 3)
    report(agent, child, agent.end, echo=T + 5, now=T + 4)
    assert child.rtd.last == -1
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
    assert agent.transit.size == 0


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


def test_repairs_that_wait_for_their_window_do_not_time_out() -> None:
    agent = make_agent(MtcpOptions(rto_margin_s=0.2), own_clock=True)
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
    assert child.repairs.window.cwnd > 1


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


def test_sequence_numbers_wrap() -> None:
    agent = make_agent(first=2**32 - 3, own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    for _ in range(6):
        multicast(agent, 1, now=1)
    effects = report(agent, child, 2**32 - 2, 0b1011, echo=1, now=1.1, nack=True)
    assert repairs(effects) == [((2**32 - 2) % 2**32, ONE)]
    report(agent, child, 2**32 + 3, echo=1, now=1.2)
    assert agent.base == agent.end == 2**32 + 3
    assert agent.transit.size == 0


@pytest.mark.parametrize(("cumulative", "sack"), [(6, 0), (2**31, 0), (3, 0b100), (0, 1 << 500), (2**32 - 1, 0)])
def test_acknowledgments_of_what_was_not_sent_are_dropped(cumulative: int, sack: int) -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    for _ in range(5):
        multicast(agent, 1, now=1)
    assert report(agent, child, cumulative, sack, echo=1, now=1.1) == []
    assert agent.counters == {"drop_ack_of_unsent": 1}
    assert agent.base == 0
    assert child.rtd.samples == 0


def test_echoes_from_the_future_are_not_measured() -> None:
    agent = make_agent(own_clock=True)
    child = agent.add_child(ONE, 10**6, now=0.0)
    multicast(agent, 1, now=1)
    report(agent, child, 1, echo=2000, now=1.1)
    probe_answered(agent, child, 2**63, 1.1)
    assert child.rtd.samples == child.rtt.samples == 0
    assert agent.counters == {"drop_echo_from_the_future": 1, "drop_probe_ack_time": 1}


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
    assert agent.transit.size == 0
    assert agent.send_window_end == 3000 + 10**6
    assert agent.wake_at is None


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


def test_a_silent_tail_is_asked_for_before_it_times_out() -> None:
    """The last packet goes again to those that may lack it; what they lack before it they report; nothing is cut."""
    agent = make_agent(MtcpOptions(rto_margin_s=0.2), own_clock=True)
    one = agent.add_child(ONE, 10**6, now=0.0)
    two = agent.add_child(TWO, 4500, now=0.0)  # has room for four packets only
    for step in range(1, 3):
        multicast(agent, step, now=step)
        for child in (one, two):
            probe_answered(agent, child, round(step * 1e6), step + 0.05)
            child.window_end = 4500
            agent.feedback(child, Feedback(7, False, step, round(step * 1e6), 0, 0, UNLIMITED, 0, 4500, 0), step + 0.05)
    two.window_end = 4500
    agent.window.cwnd = 10.0
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
    assert agent.window.cwnd == 10
