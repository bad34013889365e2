"""What a parent makes of feedback that a switch merged from several of its children's (docs/assist.md).

A summary says for all of `children` at once what they have in common; its timing is the child `number`'s own, who sent
the packet that the switch rewrote. Nothing in it is a NACK: those come unmerged, from the child that lacks something,
and so does the feedback that answers a repair. What a summary says holds for exactly the children that it names, so
that a switch that has forgotten some, or all, of its state can never make the parent forget what a child lacks.
"""

from hosts.endpoint import Effect
from hosts.mtcp.agent import Agent
from hosts.mtcp.child import Child
from hosts.mtcp.packets import Feedback
from hosts.sack import bits
from hosts.seq import extend


def apply(agent: Agent, child: Child, summary: Feedback, now: float, arrived_at: float) -> list[Effect]:
    """A summary arrived from `child`'s address."""
    counters = agent.counters
    if not child.merge or summary.number != child.number or not summary.children >> child.number & 1:
        counters["drop_unwanted_summary"] += 1
        return []
    cumulative = extend(summary.cumulative, agent.base)
    if not agent.is_possible(cumulative, summary.sack):
        counters["drop_ack_of_unsent"] += 1
        return []
    counters[f"{agent.prefix}summaries"] += 1
    counters[f"{agent.prefix}repeated_nacks"] += summary.repeats
    child.feedback += 1
    members = [
        agent.by_number[number]
        for number in bits(summary.children)
        if number in agent.by_number and agent.by_number[number].merge
    ]
    _take_delays(agent, child, summary, members, arrived_at)
    _take_state(agent, summary, members, now)
    fresh = 0
    for member in members:
        fresh |= agent.note_received(member, cumulative, summary.sack, summary.window, now)
    agent.completed(fresh, now)
    effects: list[Effect] = []
    for member in members:
        agent.reports.reported(member, summary.min_cwnd, summary.max_twnd)
        if member.repairs:
            agent.send_repairs(member, now, effects)
    return effects


def _take_delays(agent: Agent, child: Child, summary: Feedback, members: list[Child], arrived_at: float) -> None:
    """The child's delay is a sample like any other. The others' are known by how they differ from it, so that neither
    the switch's clock nor its drift counts: by how much more the one that waits longest waits, for Vegas; and how far
    the largest time-out is from it.
    """
    delays = agent.delays
    if not delays.feedback_arrived(child, summary, arrived_at):
        return
    rtd = child.rtd.last
    agent.windows.note_waiting(rtd - child.rtd.minimum + summary.queue_us / 1e6)
    timeout = rtd + summary.bound_us / 1e6
    for member in members:
        member.merged_timeout = timeout
    delays.refresh_if_above(timeout, many=True)


def _take_state(agent: Agent, summary: Feedback, members: list[Child], now: float) -> None:
    """Who lives, who moves on, and who is to be repaired when the packet `cumulative` times out: the holders only. Who
    is left out of this summary, and was in the last, is on its own again.
    """
    for number in bits(agent.merged & ~summary.children):
        left_out = agent.by_number.get(number)
        if left_out is not None:
            left_out.on_its_own()
    agent.merged = summary.children
    for member in members:
        member.heard_at = now
        member.holds = bool(summary.holders >> member.number & 1)
        if not member.holds:
            member.progress_at = now
