"""What MTCP's endpoints show of themselves in a status row: the fields of docs/trace.md, which are docs/status.md's."""

from collections import Counter

from hosts.endpoint import Address
from hosts.parts.reassembly import Reassembly
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.control import State
from hosts.protocols.mtcp.family import Family
from hosts.protocols.mtcp.packets import Data, Repair

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


def limiting_row(agent: Agent, limit: str, names: dict[Address, str]) -> dict[str, object] | None:
    """Which child limits the rate, in the terms of docs/status.md; `limit` is the sender's."""
    children = agent.children.values()
    if not children or limit in ("application", "rate"):
        return None
    reason = "cwnd"
    if limit == "advertised_window":
        child = min(children, key=lambda child: child.advertised_end)
        reason = "advertised_window"
    elif limit == "sack":
        child = min(children, key=lambda child: child.cumulative)
    else:
        # The sender's cwnd is that of all its children; the one with the longest queue on its path holds it down.
        child = max(children, key=lambda child: child.rtd.mean - child.rtd_min)
    return {
        "receiver": names.get(child.address, str(child.address)),
        "reason": reason,
        "cwnd": governing_cwnd(agent),
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "loss_rate": child.lost / max(1, agent.end),
        "advertised_window": child.advertised_window / agent.options.payload_bytes,
    }
