"""Which children a parent waits for no longer: who was silent, or made no progress though there was something to make
it with, for too long.
"""

from typing import Final

from hosts.parts.silence import UNPROVEN_S
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.wire.reason import Reason

SERVING_PATIENCE: Final = 2
"""A child that serves others is given so much more time for progress than those have: they are to be dropped, by it
(ours)."""

AGENT_PATIENCE: Final = 2
"""Of `parent_timeout_s`: so much more time has one who says the same again and may be an agent, for its children leave
it after one of them or more (watch.py), and join here (ours)."""


def hopeless(
    agent: Agent, now: float, *, blocked: bool, others_are_through: bool = False
) -> list[tuple[Child, Reason]]:
    """Those children, and why. `blocked`: there is more to send, but an advertised window keeps it back;
    `others_are_through`: nobody else is waited for than those who have acknowledged next to nothing.

    Who is silent has less time when no more can be kept for it; not so an agent, whose children may come for it.
    """
    options = agent.options
    limit = options.drop_after_s
    found = []
    for child in agent.children.values():
        behind = child.cumulative < agent.end or (blocked and child.advertised_end == agent.advertised.end)
        if not behind and not agent.has_end:  # who has all of the stream has to say so
            child.progress_at = now
        # Who says nothing waits for nobody below.
        serves = child.agent and child.answered_at > now - limit
        patience = limit * (SERVING_PATIENCE if serves else 1)
        is_unproven = not child.presence.is_proven and child.first < agent.end
        silent_for, heard_at = limit, child.heard_at
        if is_unproven and others_are_through:
            silent_for = min(limit, UNPROVEN_S)
            if child.cumulative < agent.end:
                # The same said again is nothing said; but what an agent does not say its children come and say.
                leeway = AGENT_PATIENCE * options.parent_timeout_s if child.agent else 0.0
                heard_at = min(heard_at, child.news_at + leeway)
        if heard_at <= now - silent_for or (not child.agent and agent.given_up(child, now)):
            found.append((child, Reason.UNPROVEN if is_unproven else Reason.SILENT))
        elif child.progress_at <= now - patience and child.heard_at > now - 2 * options.probe_interval_s:
            # It lives; one that does not is about to count as silent.
            found.append((child, Reason.STALLED if child.presence.times else Reason.UNPROVEN))
    return found
