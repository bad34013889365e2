"""What a parent makes of feedback that a switch merged from several of its children's (docs/assist.md).

A summary says for all of `children` at once what they have in common; its timing is the child `number`'s own, who sent
the packet that the switch rewrote. Nothing in it is a NACK: those come unmerged, from the child that lacks something,
and so does the feedback that answers a repair. What a summary says holds for exactly the children that it names, so
that a switch that has forgotten some, or all, of its state can never make the parent forget what a child lacks.
"""

from hosts.endpoint import Effect
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.packets import Feedback
from hosts.wire.seq import extend


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
    members = agent.members.named(summary.children)
    _take_delays(agent, child, summary, members, arrived_at)
    holders = summary.holders
    for member in members:  # who lives, and who is to be repaired when the packet `cumulative` times out
        member.heard_at = now
        member.holds = bool(holders >> member.number & 1)
        if not member.holds:
            member.progress_at = now
    fresh = agent.note_common(members, cumulative, summary.sack, summary.window, now)
    agent.completed(fresh, now)
    agent.moved |= agent.reports.reported_by(members, summary.min_cwnd, summary.max_twnd)
    effects: list[Effect] = []
    if agent.repairing:
        for member in members:
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
    waiting = rtd - child.rtd.minimum + summary.queue_us / 1e6
    timeout = rtd + summary.bound_us / 1e6
    for member in members:
        member.merged_timeout = timeout
        if waiting < member.round_waiting:
            member.round_waiting = waiting
    delays.refresh_if_above(timeout, many=True)
