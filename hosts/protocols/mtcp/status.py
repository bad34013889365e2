"""What MTCP's endpoints show of themselves in a status row: the fields of docs/trace.md, which are docs/status.md's."""

from collections import Counter
from collections.abc import Iterable

from hosts.endpoint import Address
from hosts.parts.reassembly import Reassembly
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.family import Family
from hosts.protocols.mtcp.packets import Data, Repair
from hosts.protocols.mtcp.tree_packets import State

_STATES = {
    State.ACTIVE: "active",
    State.COMPLETE: "complete",
    State.LEFT: "left",
    State.LOST: "lost",
    State.GONE: "complete",
}
"""In the words of docs/status.md."""


def reception_row(reception: Reassembly[Data | Repair], counters: Counter[str]) -> dict[str, object]:
    """What a receiver has had, and what it has sent for it."""
    return {
        "received_bytes": reception.received_bytes,
        "early_packets": reception.early_packets,
        "unconsumed_bytes": reception.delivered - reception.consumed,
        "data_packets": counters["data_packets"],
        "repair_packets": counters["repair_packets"],
        "duplicate_packets": counters["duplicate_packets"],
        "nacks": counters["nacks"],
        "feedback_packets": counters["feedback_packets"],
    }


def windows_row(agent: Agent) -> dict[str, object]:
    """An agent's windows, but for cwnd."""
    summary = agent.summary()
    payload = agent.options.payload_bytes
    return {
        "ssthresh": agent.congestion.window.ssthresh,
        "slow_start": agent.congestion.window.slow_start,
        "twnd": agent.congestion.twnd.size / payload,
        "min_cwnd": summary.min_cwnd / payload,
        "max_twnd": summary.max_twnd / payload,
    }


def misquoted_row(agent: Agent, names: dict[Address, str]) -> dict[str, object]:
    """Those of whom a switch has said what they did not, if there are any."""
    if agent.witness is None or not agent.witness.misquoted:
        return {}
    return {"misquoted": [names.get(peer, str(peer)) for peer in agent.witness.misquoted]}


def governing_cwnd(agent: Agent) -> float:
    """The window that governs the sender, in packets."""
    return min(agent.congestion.window.cwnd, agent.congestion.summaries.min_cwnd / agent.options.payload_bytes)


def _child_row(child: Child, state: str, agent: Agent, now: float) -> dict[str, object]:
    payload = agent.options.payload_bytes
    sent = max(1, agent.end)
    return {
        "acked_bytes": agent.end_offset if state == "complete" else min(child.cumulative * payload, agent.end_offset),
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "rtd_s": child.rtd_last if child.rtd.samples else None,
        "rtd_min_s": child.rtd_min if child.rtd.samples else None,
        "loss_rate": child.lost / sent,
        "lost_packets": child.lost,
        "repaired_packets": child.repaired,
        "repair_cwnd": child.repairs.retransmission_window.cwnd,
        "advertised_window": child.advertised_window / payload,
        "feedback_packets": child.feedback,
        "last_heard_s": now - child.heard_at,
        "state": state,
    }


def member_rows(family: Family, names: dict[Address, str], now: float) -> dict[str, dict[str, object]]:
    """What the sender knows of each member, by its name."""
    agent = family.agent
    rows: dict[str, dict[str, object]] = {}
    for address, entry in family.roster.members.items():
        child = agent.children.get(address) or family.former.get(address)
        state = _STATES[entry.state]
        row: dict[str, object] = {"state": state} if child is None else _child_row(child, state, agent, now)
        if address not in agent.children and entry.parent in names:
            row["parent"] = names[entry.parent]
        rows[names[address]] = row
    return rows


def _queueing_s(child: Child) -> float:
    return child.rtd.mean - child.rtd_min


def _last_in_getting_on(children: Iterable[Child], limit: str) -> Child | None:
    """Who has least room for data, or least of them, where that is the limit."""
    if limit == "advertised_window":
        return min(children, key=lambda child: child.advertised_end)
    return min(children, key=lambda child: child.cumulative) if limit == "sack" else None


def _limits_by_those_below(child: Child, agent: Agent) -> bool:
    """Whether what is below a child, and not its own path, keeps the window small."""
    return child.min_cwnd < agent.congestion.window.cwnd * agent.options.payload_bytes


def waited_for(agent: Agent, limit: str) -> Child | None:
    """The child that keeps the sender from getting on; None: it has nothing to send, or may not."""
    children = agent.children.values()
    if not children or limit == "rate":
        return None
    if limit == "application":
        slowest = min(children, key=lambda child: child.cumulative)
        return slowest if agent.has_end and slowest.cumulative < agent.end else None
    if (last := _last_in_getting_on(children, limit)) is not None:
        return last
    congestion = agent.congestion
    below = min(children, key=lambda child: child.min_cwnd)
    if _limits_by_those_below(below, agent):
        return below
    queued = max(children, key=_queueing_s)
    # Vegas' measure of a queue. Where there is none the window was made smaller for another reason, or waits.
    is_queue = _queueing_s(queued) * congestion.rate > agent.options.alpha
    return queued if is_queue else min(children, key=lambda child: child.cumulative)


def limiting_row(agent: Agent, limit: str, names: dict[Address, str]) -> dict[str, object] | None:
    """Which child limits the rate, in the terms of docs/status.md; `limit` is the sender's."""
    children = agent.children.values()
    if not children or limit in ("application", "rate"):
        return None
    reason = "advertised_window" if limit == "advertised_window" else "cwnd"
    # The sender's cwnd is that of all its children; the one with the longest queue on its path holds it down, if it is
    # not somebody below one of them.
    below = min(children, key=lambda child: child.min_cwnd)
    by_window = below if _limits_by_those_below(below, agent) else max(children, key=_queueing_s)
    child = _last_in_getting_on(children, limit) or by_window
    return {
        "receiver": names.get(child.address, str(child.address)),
        "reason": reason,
        "cwnd": governing_cwnd(agent),
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "loss_rate": child.lost / max(1, agent.end),
        "advertised_window": child.advertised_window / agent.options.payload_bytes,
    }
