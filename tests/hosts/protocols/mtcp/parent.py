"""An agent and what its children tell it, step by step."""

from collections import Counter

from hosts.endpoint import Address, CongestionSignal, Effect, Send
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback, Repair, encode_data, parse
from hosts.protocols.mtcp.wire import UNLIMITED

ONE = Address("10.0.0.1", 1)
TWO = Address("10.0.0.2", 1)
THREE = Address("10.0.0.3", 1)
GROUP = Address("232.1.1.1", 5000)
T = 1000.0
"""Time 0 of the figures: clocks on the wire do not go below zero."""
BARE = MtcpOptions(rules="paper", rto_margin_s=0.0, ack_delay_s=1e-9)
"""The paper's rules, and no margins, so that timeouts are the means of constant delays, as in the paper's figures."""


def make_agent(
    options: MtcpOptions = BARE, *, first: int = 0, own_clock: bool = False, group: Address | None = None
) -> Agent:
    return Agent(options, Counter(), first=first, own_clock=own_clock, group=group)


def multicast(agent: Agent, send_time: float, now: float, size: int = 1000) -> None:
    """The packet `agent.end` was sent at `send_time` (sender's clock) and buffered at `now` (agent's)."""
    time_us = round(send_time * 1e6)
    data = encode_data(7, False, agent.end, time_us, agent.end_offset, bytes(size))
    agent.arrived(agent.end, data, agent.end_offset, size, time_us, now)


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
